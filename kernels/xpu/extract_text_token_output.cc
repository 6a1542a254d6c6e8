// extract_text_token_output: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void extract_text_token_output(const int* max_seq_len, const int* max_seq_len_index,
                                                       const int* mm_token_num_len, const int* seq_lens_this_time,
                                                       const int* cu_seqlens_q, const char* score_text, Int64 scores,
                                                       char* output, Int64 bsz, Int64 row_bytes);

}  // namespace xpu

namespace {

void extract_text_token_output(Stream stream, Tensor<const int32_t, 1> max_seq_len,
                               Tensor<const int32_t, 1> max_seq_len_index, Tensor<const int32_t, 1> mm_token_num_len,
                               Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> cu_seqlens_q,
                               Tensor<const float, 2> score_text, Tensor<float, 2> output) {
  const int64_t bsz = seq_lens_this_time.shape[0], width = score_text.shape[1];
  max_seq_len.require(0, 1, "one number");
  max_seq_len_index.require(0, 1, "one number");
  mm_token_num_len.require(0, 1, "one number");
  cu_seqlens_q.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  output.require(0, bsz, "slots of seq_lens_this_time");
  output.require(1, width, "columns of score_text");
  if (bsz == 0 || width == 0) return;
  check_launch("extract_text_token_output",
               xpu::extract_text_token_output<<<clusters(), cores(), stream>>>(
                   max_seq_len.data, max_seq_len_index.data, mm_token_num_len.data, seq_lens_this_time.data,
                   cu_seqlens_q.data, raw_bytes(score_text), score_text.shape[0], raw_bytes(output), bsz,
                   width * int64_t(sizeof(float))));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(extract_text_token_output, opgold::extract_text_token_output)
