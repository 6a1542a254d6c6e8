// speculate_update: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_update(int* seq_lens_encoder, int* seq_lens_decoder, bool* not_need_stop,
                                              Int64* draft_tokens, int* actual_draft_token_nums,
                                              const Int64* accept_tokens, Int64 max_draft, const int* accept_num,
                                              const bool* stop_flags, const int* seq_lens_this_time,
                                              const bool* is_block_step, const Int64* stop_nums, int* mask_rollback,
                                              Int64 bsz, Int64 slots);

}  // namespace xpu

namespace {

void speculate_update(Stream stream, Tensor<int32_t, 1> seq_lens_encoder, Tensor<int32_t, 1> seq_lens_decoder,
                      Tensor<bool, 1> not_need_stop, Tensor<int64_t, 2> draft_tokens,
                      Tensor<int32_t, 1> actual_draft_token_nums, Tensor<const int64_t, 2> accept_tokens,
                      Tensor<const int32_t, 1> accept_num, Tensor<const bool, 1> stop_flags,
                      Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const bool, 1> is_block_step,
                      Tensor<const int64_t, 1> stop_nums, Tensor<int32_t, 1> mask_rollback) {
  const int64_t slots = stop_flags.shape[0], bsz = seq_lens_this_time.shape[0];
  require_all_slots(slots, bsz, seq_lens_encoder, seq_lens_decoder, draft_tokens, actual_draft_token_nums,
                    accept_tokens, accept_num, is_block_step, mask_rollback);
  accept_tokens.require(1, draft_tokens.shape[1], "columns of draft_tokens");
  not_need_stop.require(0, 1, "one flag");
  stop_nums.require(0, 1, "one number");
  check_launch("speculate_update",
               xpu::speculate_update<<<clusters(), cores(), stream>>>(
                   seq_lens_encoder.data, seq_lens_decoder.data, not_need_stop.data, device_data(draft_tokens),
                   actual_draft_token_nums.data, device_data(accept_tokens), accept_tokens.shape[1], accept_num.data,
                   stop_flags.data, seq_lens_this_time.data, is_block_step.data, device_data(stop_nums),
                   mask_rollback.data, bsz, slots));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_update, opgold::speculate_update)
