// speculate_get_target_logits: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_get_target_logits(char* target_logits, Int64 rows, const char* logits,
                                                         Int64 logits_rows, Int64 row_bytes,
                                                         const int* cu_batch_token_offset,
                                                         const int* ori_cu_batch_token_offset, int bsz);

}  // namespace xpu

namespace {

void speculate_get_target_logits(Stream stream, Tensor<float, 2> target_logits, Tensor<const float, 2> logits,
                                 Tensor<const int32_t, 1> cu_batch_token_offset,
                                 Tensor<const int32_t, 1> ori_cu_batch_token_offset,
                                 Tensor<const int32_t, 1> seq_lens_this_time,
                                 Tensor<const int32_t, 1> seq_lens_encoder, Tensor<const int32_t, 1> accept_num) {
  const int bsz = count_of(seq_lens_this_time, 0);
  const int64_t width = logits.shape[1];
  require_all_slots(seq_lens_encoder.shape[0], bsz, accept_num);
  require_rows(cu_batch_token_offset, int64_t{bsz} + 1, "slots of seq_lens_this_time, and 1");
  require_rows(ori_cu_batch_token_offset, int64_t{bsz} + 1, "slots of seq_lens_this_time, and 1");
  target_logits.require(1, width, "columns of logits");
  if (bsz == 0 || width == 0) return;
  check_launch("speculate_get_target_logits",
               xpu::speculate_get_target_logits<<<clusters(), cores(), stream>>>(
                   raw_bytes(target_logits), target_logits.shape[0], raw_bytes(logits), logits.shape[0],
                   width * int64_t(sizeof(float)), cu_batch_token_offset.data, ori_cu_batch_token_offset.data, bsz));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_get_target_logits, opgold::speculate_get_target_logits)
