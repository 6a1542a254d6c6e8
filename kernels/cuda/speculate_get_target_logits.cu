// speculate_get_target_logits: logits of the target model's accepted tokens.
#include "accepted_logits.cuh"
#include "bindings/export.h"
#include "slot_buffers.cuh"

namespace opgold {
namespace {

void speculate_get_target_logits(Stream stream, Tensor<float, 2> target_logits, Tensor<const float, 2> logits,
                                 Tensor<const int32_t, 1> cu_batch_token_offset,
                                 Tensor<const int32_t, 1> ori_cu_batch_token_offset,
                                 Tensor<const int32_t, 1> seq_lens_this_time,
                                 Tensor<const int32_t, 1> seq_lens_encoder, Tensor<const int32_t, 1> accept_num) {
  const int64_t bsz = seq_lens_this_time.shape[0], width = logits.shape[1];
  require_all_slots(seq_lens_encoder.shape[0], bsz, accept_num);
  require_rows(cu_batch_token_offset, bsz + 1, "slots of seq_lens_this_time, and 1");
  require_rows(ori_cu_batch_token_offset, bsz + 1, "slots of seq_lens_this_time, and 1");
  target_logits.require(1, width, "columns of logits");
  launch_accepted(stream, "speculate_get_target_logits",
                  {reinterpret_cast<const uint32_t*>(logits.data), logits.shape[0],
                   reinterpret_cast<uint32_t*>(target_logits.data), target_logits.shape[0], width,
                   cu_batch_token_offset.data, ori_cu_batch_token_offset.data, bsz, nullptr, 0, nullptr, 0});
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_get_target_logits, opgold::speculate_get_target_logits)
