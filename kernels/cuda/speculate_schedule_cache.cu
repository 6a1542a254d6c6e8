// speculate_schedule_cache: slots that must wait for a cache block before they decode on.
//
// One block does all slots: the flag hangs on state that is written.
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
  int block_shift;  // block_size as a shift, or -1

  // Whether the lane's slot is stopped in the end. A row is asked for before it is known whether it must be saved.
  __device__ bool schedule(const SlotGroup& group) const {
    const int64_t slot = group.slot();
    const bool owns = group.owns();
    bool stopped = true;
    int32_t run = 0, cached = 0;
    int64_t prompt = 0;
    if (owns) {
      cached = seq_lens_decoder[slot];
      prompt = prompt_lens[slot];
      run = seq_lens_this_time[slot];
      stopped = stop_flags[slot];
    }
    const int32_t block = owns ? look_ahead(slot, cached) : 0;
    const bool stops = !stopped & (prefill_one_step_stop | (cached < prompt));
    const bool blocked = !stopped & !stops & (block == -1);
    const unsigned saved = __ballot_sync(~0u, blocked);
    if (blocked) {
      is_block_step[slot] = true;
      step_seq_lens_this_time[slot] = run;
      step_seq_lens_decoder[slot] = cached;
    }
    if (stops) seq_lens_encoder[slot] = 0;
    if (stops || blocked) {
      stop_flags[slot] = true;
      seq_lens_this_time[slot] = 0;
      seq_lens_decoder[slot] = 0;
      accept_num[slot] = 0;
    }
    if (saved != 0) save(group, saved);
    return owns && (stopped || stops || blocked);
  }

  // The block that the slot needs, or 0 if its row has no place for it. Block sizes are mostly powers of two, and a
  // division by any other is a long chain.
  __device__ int32_t look_ahead(int64_t slot, int32_t cached) const {
    const uint32_t position = static_cast<uint32_t>(cached) + tables.ahead;
    const int64_t column = block_shift >= 0 ? position >> block_shift : position / tables.block_size;
    return column < tables.columns ? tables.data[slot * tables.columns + column] : 0;
  }

  // Saves the rows of the slots of `saved`, a bit for each of the group.
  __device__ void save(const SlotGroup& group, unsigned saved) const {
    int64_t drafts[kPasses];
    const auto marked = [&](int pass) { return (saved >> group.place(pass) & 1) != 0; };
#pragma unroll 1
    for (int64_t begin = 0; begin < draft_tokens.width; begin += kRowLanes) {
      group.load(draft_tokens, begin, drafts);
      group.for_each_cell(step_draft_tokens, begin, [&](int pass, int64_t& cell) {
        if (marked(pass)) cell = drafts[pass];
      });
    }
#pragma unroll 1
    for (int64_t begin = 0; begin < accept_tokens.width; begin += kRowLanes)
      group.for_each_cell(accept_tokens, begin, [&](int pass, int64_t& cell) {
        if (marked(pass)) cell = -1;
      });
  }
};

__global__ void __launch_bounds__(kMostThreads) schedule_slots(Schedule op) {
  const int64_t enough = op.stop_nums[0];
  int64_t stopped = op.slots - op.bsz;
  for_each_group(op.bsz, [&](const SlotGroup& group) { stopped += __syncthreads_count(op.schedule(group)); });
  if (threadIdx.x == 0) op.not_need_stop[0] = stopped < enough;
}

// The binary logarithm of a power of two, else -1.
int shift_of(uint32_t value) {
  for (int shift = 0; shift < 32; ++shift)
    if (value == 1u << shift) return shift;
  return -1;
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
  const BlockTables tables = BlockTables::of(block_tables, block_size, max_draft_tokens);
  const Schedule op{rows_of(draft_tokens), tables,
                    stop_flags.data,       prompt_lens.data,
                    seq_lens_this_time.data, seq_lens_encoder.data,
                    seq_lens_decoder.data, step_seq_lens_decoder.data,
                    rows_of(step_draft_tokens), step_seq_lens_this_time.data,
                    accept_num.data,       rows_of(accept_tokens),
                    is_block_step.data,    not_need_stop.data,
                    stop_nums.data,        bsz,
                    slots,                 prefill_one_step_stop,
                    shift_of(tables.block_size)};
  schedule_slots<<<1, threads_for_groups(bsz), 0, stream>>>(op);
  check_launch("speculate_schedule_cache");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_schedule_cache, opgold::speculate_schedule_cache)
