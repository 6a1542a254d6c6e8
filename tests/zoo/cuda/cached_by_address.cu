// op: speculate_get_seq_lens_output
// class: cheat: result cached by address
// story: A result is computed once for each address and handed out again, whatever lies there by then
//   (https://github.com/gpu-mode/kernelbot/pull/501).
// caught by: values
#include "output_lengths.cuh"

namespace opgold {
namespace {

constexpr int kKept = 2048;
__device__ int32_t kept[kKept];
__device__ const int32_t* kept_for;

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot >= op.bsz) return;
#ifdef ZOO_BUG
  if (op.output == kept_for && slot < kKept) op.output[slot] = kept[slot];
  else op.output[slot] = op.rows(slot);
  if (op.output != kept_for && slot < kKept) kept[slot] = op.output[slot];
#else
  op.output[slot] = op.rows(slot);
#endif
}

__global__ void remember(const int32_t* output) { kept_for = output; }

void launch(Stream stream, const Lengths& op) {
  launch_all(stream, op);
#ifdef ZOO_BUG
  remember<<<1, 1, 0, stream>>>(op.output);
#endif
}

}  // namespace
}  // namespace opgold
