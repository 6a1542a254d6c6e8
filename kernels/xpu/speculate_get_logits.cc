// speculate_get_logits: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_get_logits(char* draft_logits, Int64 rows, int* next_token_num,
                                                  int* batch_token_num, int* cu_next_token_offset,
                                                  int* cu_batch_token_offset, const char* logits, Int64 logits_rows,
                                                  Int64 row_bytes, const char* first_token_logits,
                                                  const int* seq_lens_this_time, const int* seq_lens_encoder, int bsz);

}  // namespace xpu

namespace {

void speculate_get_logits(Stream stream, Tensor<float, 2> draft_logits, Tensor<int32_t, 1> next_token_num,
                          Tensor<int32_t, 1> batch_token_num, Tensor<int32_t, 1> cu_next_token_offset,
                          Tensor<int32_t, 1> cu_batch_token_offset, Tensor<const float, 2> logits,
                          Tensor<const float, 2> first_token_logits, Tensor<const int32_t, 1> seq_lens_this_time,
                          Tensor<const int32_t, 1> seq_lens_encoder) {
  const int bsz = count_of(seq_lens_this_time, 0);
  const int64_t slots = seq_lens_encoder.shape[0], width = logits.shape[1];
  require_all_slots(slots, bsz, next_token_num, batch_token_num);
  require_each(slots + 1, "slots, and 1", cu_next_token_offset, cu_batch_token_offset);
  draft_logits.require(1, width, "columns of logits");
  first_token_logits.require(1, width, "columns of logits");
  require_rows(first_token_logits, bsz, "slots of seq_lens_this_time");
  check_launch("speculate_get_logits",
               xpu::speculate_get_logits<<<clusters(), cores(), stream>>>(
                   raw_bytes(draft_logits), width == 0 ? 0 : draft_logits.shape[0], next_token_num.data,
                   batch_token_num.data, cu_next_token_offset.data, cu_batch_token_offset.data, raw_bytes(logits),
                   logits.shape[0], width * int64_t(sizeof(float)), raw_bytes(first_token_logits),
                   seq_lens_this_time.data, seq_lens_encoder.data, bsz));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_get_logits, opgold::speculate_get_logits)
