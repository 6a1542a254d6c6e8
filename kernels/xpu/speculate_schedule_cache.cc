// speculate_schedule_cache: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_schedule_cache(
    const Int64* draft_tokens, Int64 max_draft, const int* block_tables, Int64 blocks_per_slot, unsigned block_size,
    unsigned ahead, bool* stop_flags, const Int64* prompt_lens, int* seq_lens_this_time, int* seq_lens_encoder,
    int* seq_lens_decoder, int* step_seq_lens_decoder, Int64* step_draft_tokens, int* step_seq_lens_this_time,
    int* accept_num, Int64* accept_tokens, Int64 max_accept, bool* is_block_step, bool* not_need_stop,
    const Int64* stop_nums, Int64 bsz, Int64 slots, bool prefill_one_step_stop);

}  // namespace xpu

namespace {

void speculate_schedule_cache(Stream stream, Tensor<const int64_t, 2> draft_tokens,
                              Tensor<const int32_t, 2> block_tables, Tensor<bool, 1> stop_flags,
                              Tensor<const int64_t, 1> prompt_lens, Tensor<int32_t, 1> seq_lens_this_time,
                              Tensor<int32_t, 1> seq_lens_encoder, Tensor<int32_t, 1> seq_lens_decoder,
                              Tensor<int32_t, 1> step_seq_lens_decoder, Tensor<int64_t, 2> step_draft_tokens,
                              Tensor<int32_t, 1> step_seq_lens_this_time, Tensor<int32_t, 1> accept_num,
                              Tensor<int64_t, 2> accept_tokens, Tensor<bool, 1> is_block_step,
                              Tensor<bool, 1> not_need_stop, Tensor<const int64_t, 1> stop_nums, int64_t block_size,
                              int64_t max_draft_tokens, bool prefill_one_step_stop) {
  const int64_t slots = stop_flags.shape[0], bsz = seq_lens_this_time.shape[0];
  require_all_slots(slots, bsz, draft_tokens, block_tables, prompt_lens, seq_lens_encoder, seq_lens_decoder,
                    step_seq_lens_decoder, step_draft_tokens, step_seq_lens_this_time, accept_num, accept_tokens,
                    is_block_step);
  step_draft_tokens.require(1, draft_tokens.shape[1], "columns of draft_tokens");
  not_need_stop.require(0, 1, "one flag");
  stop_nums.require(0, 1, "one number");
  const unsigned ahead = require_look_ahead(block_size, max_draft_tokens);
  check_launch("speculate_schedule_cache",
               xpu::speculate_schedule_cache<<<1, cores(), stream>>>(
                   device_data(draft_tokens), draft_tokens.shape[1], block_tables.data, block_tables.shape[1],
                   static_cast<unsigned>(block_size), ahead, stop_flags.data, device_data(prompt_lens),
                   seq_lens_this_time.data, seq_lens_encoder.data, seq_lens_decoder.data, step_seq_lens_decoder.data,
                   device_data(step_draft_tokens), step_seq_lens_this_time.data, accept_num.data,
                   device_data(accept_tokens), accept_tokens.shape[1], is_block_step.data, not_need_stop.data,
                   device_data(stop_nums), bsz, slots, prefill_one_step_stop));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_schedule_cache, opgold::speculate_schedule_cache)
