// speculate_update: every slot's state after its drafts were verified. A thread does a slot; a block of its own derives
// the flag, which hangs on nothing that is written.
#include <cub/block/block_reduce.cuh>

#include "bindings/export.h"
#include "draft_rows.cuh"
#include "slot_buffers.cuh"

namespace opgold {
namespace {

struct Update {
  int32_t* seq_lens_encoder;
  int32_t* seq_lens_decoder;
  bool* not_need_stop;
  Rows<int64_t> draft_tokens;
  int32_t* actual_draft_token_nums;
  Rows<const int64_t> accept_tokens;
  const int32_t* accept_num;
  const bool* stop_flags;
  const int32_t* seq_lens_this_time;
  const bool* is_block_step;
  const int64_t* stop_nums;
  int32_t* mask_rollback;
  int64_t bsz;
  int64_t slots;

  __device__ void update(int64_t slot) const {
    const bool blocked = is_block_step[slot], stopped = stop_flags[slot];
    const int32_t encoder = seq_lens_encoder[slot], decoder = seq_lens_decoder[slot];
    const int32_t accepted = accept_num[slot], run = seq_lens_this_time[slot];
    const int32_t drafts = actual_draft_token_nums[slot];
    if (blocked) return;
    const int64_t token = accept_tokens.get(slot, int64_t(accepted) - 1, 0);

    const bool decodes = encoder == 0 && !stopped;
    mask_rollback[slot] = decodes ? wrapping_difference(run, accepted) : 0;
    seq_lens_decoder[slot] = wrapping_sum(decoder, decodes ? accepted : encoder);
    seq_lens_encoder[slot] = 0;
    if (run > 1 && encoder == 0) actual_draft_token_nums[slot] = adapted(drafts, accepted);
    if (accepted > 0 && accepted <= accept_tokens.width) draft_tokens.put(slot, 0, token);
  }

  __device__ int32_t adapted(int32_t drafts, int32_t accepted) const {
    if (wrapping_difference(accepted, 1) != drafts) return drafts > 2 ? drafts - 1 : 1;
    const int64_t most = draft_tokens.width - 1, more = int64_t(drafts) + 2;
    return static_cast<int32_t>(more < most ? more : most);
  }
};

__global__ void __launch_bounds__(kRowThreads) update_slots(Update op) {
  using Reduce = cub::BlockReduce<unsigned, kRowThreads>;
  __shared__ typename Reduce::TempStorage storage;
  if (blockIdx.x > 0) {
    const int64_t slot = (blockIdx.x - 1) * int64_t(kRowThreads) + threadIdx.x;
    if (slot < op.bsz) op.update(slot);
    return;
  }
  const int64_t enough = op.stop_nums[0];
  unsigned stopped = 0;
  for (int64_t slot = threadIdx.x; slot < op.bsz; slot += kRowThreads)
    stopped += op.stop_flags[slot] && !op.is_block_step[slot];
  stopped = Reduce(storage).Sum(stopped);
  if (threadIdx.x == 0) op.not_need_stop[0] = int64_t(stopped) + (op.slots - op.bsz) < enough;
}

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
  const Update op{seq_lens_encoder.data,   seq_lens_decoder.data, not_need_stop.data,
                  rows_of(draft_tokens),   actual_draft_token_nums.data, rows_of(accept_tokens),
                  accept_num.data,         stop_flags.data,       seq_lens_this_time.data,
                  is_block_step.data,      stop_nums.data,        mask_rollback.data,
                  bsz,                     slots};
  const unsigned blocks = 1 + static_cast<unsigned>((bsz + kRowThreads - 1) / kRowThreads);
  update_slots<<<blocks, kRowThreads, 0, stream>>>(op);
  check_launch("speculate_update");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_update, opgold::speculate_update)
