// recover_decode_task: blocked slots that got their cache blocks decode on. A thread does a slot.
#include "bindings/export.h"
#include "look_ahead.cuh"
#include "slot_buffers.cuh"

namespace opgold {
namespace {

constexpr int kRecoverThreads = 128;

struct Recover {
  bool* stop_flags;
  int32_t* seq_lens_this_time;
  int32_t* seq_lens_encoder;
  int32_t* seq_lens_decoder;
  const int32_t* step_seq_lens_decoder;
  BlockTables tables;
  bool* is_block_step;
  int64_t bsz;
};

__global__ void __launch_bounds__(kRecoverThreads) recover(Recover op) {
  const int64_t slot = blockIdx.x * int64_t(kRecoverThreads) + threadIdx.x;
  if (slot >= op.bsz) return;
  const bool blocked = op.is_block_step[slot];
  const int32_t cached = op.step_seq_lens_decoder[slot];
  if (!blocked) return;
  const bool lacks = op.tables.lacks(slot, static_cast<uint32_t>(cached));
  if (lacks | op.tables.lacks_look_ahead(slot, cached)) return;
  op.stop_flags[slot] = false;
  op.is_block_step[slot] = false;
  op.seq_lens_this_time[slot] = 1;
  op.seq_lens_encoder[slot] = 0;
  op.seq_lens_decoder[slot] = cached;
}

void recover_decode_task(Stream stream, Tensor<bool, 1> stop_flags, Tensor<int32_t, 1> seq_lens_this_time,
                         Tensor<int32_t, 1> seq_lens_encoder, Tensor<int32_t, 1> seq_lens_decoder,
                         Tensor<const int32_t, 1> step_seq_lens_decoder, Tensor<const int32_t, 2> block_tables,
                         Tensor<bool, 1> is_block_step, int64_t block_size, int64_t max_draft_tokens) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  require_all_slots(is_block_step.shape[0], bsz, stop_flags, seq_lens_encoder, seq_lens_decoder, step_seq_lens_decoder,
                    block_tables);
  const Recover op{stop_flags.data,
                   seq_lens_this_time.data,
                   seq_lens_encoder.data,
                   seq_lens_decoder.data,
                   step_seq_lens_decoder.data,
                   BlockTables::of(block_tables, block_size, max_draft_tokens),
                   is_block_step.data,
                   bsz};
  if (bsz == 0) return;
  recover<<<static_cast<unsigned>((bsz + kRecoverThreads - 1) / kRecoverThreads), kRecoverThreads, 0, stream>>>(op);
  check_launch("recover_decode_task");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(recover_decode_task, opgold::recover_decode_task)
