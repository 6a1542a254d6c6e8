// extract_text_token_output: the score row of each slot's last text token.
#include "bindings/export.h"
#include "rows.cuh"

namespace opgold {
namespace {

constexpr uint32_t kOne = 0x3f800000;  // 1.0f

struct TextTokens {
  const int32_t* max_seq_len;
  const int32_t* max_seq_len_index;
  const int32_t* mm_token_num_len;
  const int32_t* seq_lens_this_time;
  const int32_t* cu_seqlens_q;

  // Everything is loaded at once.
  __device__ Filling filling(int64_t slot) const {
    const int32_t longest = *max_seq_len, mixed = *max_seq_len_index;
    const int64_t images = *mm_token_num_len, end = cu_seqlens_q[slot + 1];
    const bool running = seq_lens_this_time[slot] != 0;
    if (slot == mixed && longest == images) return {-1, 0};
    if (!running) return {-1, kOne};
    return {end - 1 - (slot >= mixed ? images : 0), 0};
  }
};

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
  const TextTokens tokens{max_seq_len.data, max_seq_len_index.data, mm_token_num_len.data, seq_lens_this_time.data,
                          cu_seqlens_q.data};
  launch_fill_rows(stream, tokens, reinterpret_cast<const uint32_t*>(score_text.data), score_text.shape[0],
                   reinterpret_cast<uint32_t*>(output.data), bsz, width);
  check_launch("extract_text_token_output");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(extract_text_token_output, opgold::extract_text_token_output)
