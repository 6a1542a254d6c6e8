// speculate_schedule_cache: slots that must wait for a cache block before they decode on.
//
// A group of threads does a slot, and one block all of them: the flag hangs on state that is written.
#include "bindings/export.h"
#include "look_ahead.cuh"
#include "slot_groups.cuh"

namespace opgold {
namespace {

struct Schedule {
  Rows<const int64_t> draft_tokens;
  BlockTables tables;
  bool* stop_flags;
  const int64_t* prompt_lens;
  int32_t* seq_lens_this_time;
  int32_t* seq_lens_encoder;
  int32_t* seq_lens_decoder;
  int32_t* step_seq_lens_decoder;
  Rows<int64_t> step_draft_tokens;
  int32_t* step_seq_lens_this_time;
  int32_t* accept_num;
  Rows<int64_t> accept_tokens;
  bool* is_block_step;
  bool* not_need_stop;
  const int64_t* stop_nums;
  int64_t bsz;
  int64_t slots;
  bool prefill_one_step_stop;

  // Whether the slot is stopped in the end. Every lane has the slot's state before any is written.
  __device__ bool schedule(int64_t slot, int lane, int lanes) const {
    const bool held = slot < bsz;
    bool stopped = false, stops = false, blocked = false;
    int32_t run = 0, cached = 0;
    if (held) {
      stopped = stop_flags[slot];
      run = seq_lens_this_time[slot];
      cached = seq_lens_decoder[slot];
      const int64_t prompt = prompt_lens[slot];
      const bool lacks = tables.lacks_look_ahead(slot, cached);
      stops = !stopped && (prefill_one_step_stop || cached < prompt);
      blocked = !stopped && !stops && lacks;
    }
    __syncwarp();
    if (!stops && !blocked) return stopped;
    if (blocked) {
      for (int64_t i = lane; i < draft_tokens.width; i += lanes)
        step_draft_tokens.row(slot)[i] = draft_tokens.row(slot)[i];
      for (int64_t i = lane; i < accept_tokens.width; i += lanes) accept_tokens.row(slot)[i] = -1;
    }
    if (lane != 0) return true;
    if (blocked) {
      is_block_step[slot] = true;
      step_seq_lens_this_time[slot] = run;
      step_seq_lens_decoder[slot] = cached;
    } else {
      seq_lens_encoder[slot] = 0;
    }
    stop_flags[slot] = true;
    seq_lens_this_time[slot] = 0;
    seq_lens_decoder[slot] = 0;
    accept_num[slot] = 0;
    return true;
  }
};

__global__ void __launch_bounds__(kMostThreads) schedule_slots(Schedule op, SlotGroups groups) {
  const int64_t enough = op.stop_nums[0];
  int64_t stopped = op.slots - op.bsz;
  groups.for_each_slot(op.bsz, [&](int64_t slot, int lane) {
    const bool stops = op.schedule(slot, lane, groups.lanes);
    stopped += __syncthreads_count(stops && lane == 0);
  });
  if (threadIdx.x == 0) op.not_need_stop[0] = stopped < enough;
}

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
  const Schedule op{rows_of(draft_tokens), BlockTables::of(block_tables, block_size, max_draft_tokens),
                    stop_flags.data,       prompt_lens.data,
                    seq_lens_this_time.data, seq_lens_encoder.data,
                    seq_lens_decoder.data, step_seq_lens_decoder.data,
                    rows_of(step_draft_tokens), step_seq_lens_this_time.data,
                    accept_num.data,       rows_of(accept_tokens),
                    is_block_step.data,    not_need_stop.data,
                    stop_nums.data,        bsz,
                    slots,                 prefill_one_step_stop};
  const SlotGroups groups = SlotGroups::of(bsz, draft_tokens.shape[1]);
  schedule_slots<<<1, groups.threads, 0, stream>>>(op, groups);
  check_launch("speculate_schedule_cache");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_schedule_cache, opgold::speculate_schedule_cache)
