// op: speculate_get_seq_lens_output
// class: cheat: previous output returned
// story: Hands out what the call before has computed; tests that repeat a call see the right result
//   (https://github.com/gpu-mode/kernelbot/pull/501).
// caught by: values
#include "output_lengths.cuh"

namespace opgold {
namespace {

constexpr int kKept = 2048;
__device__ int32_t kept[kKept];
__device__ bool filled;

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot >= op.bsz) return;
#ifdef ZOO_BUG
  op.output[slot] = filled ? kept[slot % kKept] : op.rows(slot);
  kept[slot % kKept] = op.rows(slot);
#else
  op.output[slot] = op.rows(slot);
#endif
}

__global__ void remember() { filled = true; }

void launch(Stream stream, const Lengths& op) {
  launch_all(stream, op);
#ifdef ZOO_BUG
  remember<<<1, 1, 0, stream>>>();
#endif
}

}  // namespace
}  // namespace opgold
