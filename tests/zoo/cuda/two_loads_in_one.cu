// op: speculate_get_seq_lens_output
// class: ADDR
// story: Two lengths are loaded at once, as if every buffer began at a multiple of eight bytes
//   (https://github.com/vllm-project/vllm/pull/46324).
// caught by: bounds
#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot >= op.bsz) return;
#ifdef ZOO_BUG
  if (slot % 2 == 0 && slot + 1 < op.bsz) {
    const uint64_t pair = *reinterpret_cast<const uint64_t*>(op.this_time + slot);
    op.output[slot] = op.encoder[slot] > 0 && uint32_t(pair) != 0 ? 1 : static_cast<int32_t>(pair);
    return;
  }
#endif
  op.output[slot] = op.rows(slot);
}

void launch(Stream stream, const Lengths& op) { launch_all(stream, op); }

}  // namespace
}  // namespace opgold
