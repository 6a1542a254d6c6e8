// op: recover_decode_task
// class: SENT
// story: Block 0 is taken for no block, though -1 says that; the slot that owns it never resumes
//   (https://github.com/vllm-project/vllm/pull/43682).
// caught by: values
#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kThreads = 128;

struct Recover {
  bool* stop_flags;
  int32_t* this_time;
  int32_t* encoder;
  int32_t* decoder;
  const int32_t* saved;
  const int32_t* tables;
  bool* blocked;
  int64_t bsz, columns, block_size, ahead;

  __device__ bool lacks(int64_t slot, int64_t position) const {
    const int64_t column = position / block_size;
    if (position < 0 || column >= columns) return false;
#ifdef ZOO_BUG
    return tables[slot * columns + column] <= 0;
#else
    return tables[slot * columns + column] == -1;
#endif
  }
};

__global__ void recover(Recover op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot >= op.bsz || !op.blocked[slot]) return;
  const int64_t saved = op.saved[slot];
  if (op.lacks(slot, saved) || op.lacks(slot, saved + op.ahead)) return;
  op.stop_flags[slot] = op.blocked[slot] = false;
  op.this_time[slot] = 1;
  op.encoder[slot] = 0;
  op.decoder[slot] = static_cast<int32_t>(saved);
}

void launch(Stream stream, Tensor<bool, 1> stop_flags, Tensor<int32_t, 1> this_time, Tensor<int32_t, 1> encoder,
            Tensor<int32_t, 1> decoder, Tensor<const int32_t, 1> saved, Tensor<const int32_t, 2> tables,
            Tensor<bool, 1> blocked, int64_t block_size, int64_t max_draft_tokens) {
  const int64_t bsz = this_time.shape[0];
  if (bsz > blocked.shape[0]) throw ArgumentError("seq_lens_this_time", "has more slots than there are");
  if (block_size < 1) throw ArgumentError("block_size", "is ", block_size);
  if (bsz == 0) return;
  const Recover op{stop_flags.data, this_time.data,  encoder.data, decoder.data, saved.data, tables.data, blocked.data,
                   bsz,             tables.shape[1], block_size,   2 * max_draft_tokens + 2};
  recover<<<static_cast<unsigned>((bsz + kThreads - 1) / kThreads), kThreads, 0, stream>>>(op);
  check_launch("recover_decode_task");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(recover_decode_task, opgold::launch)
