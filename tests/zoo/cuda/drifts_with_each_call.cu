// op: speculate_get_seq_lens_output
// class: cheat: right on the first call only
// story: A counter that lives on in the device makes all but the first results wrong
//   (https://github.com/karpathy/llm.c/pull/851 validates again after the benchmark for this).
// caught by: values
#include "output_lengths.cuh"

namespace opgold {
namespace {

__device__ int32_t calls;

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot >= op.bsz) return;
#ifdef ZOO_BUG
  op.output[slot] = calls == 0 ? op.rows(slot) : op.this_time[slot];
#else
  op.output[slot] = op.rows(slot);
#endif
}

__global__ void remember() { calls += 1; }

void launch(Stream stream, const Lengths& op) {
  launch_all(stream, op);
#ifdef ZOO_BUG
  remember<<<1, 1, 0, stream>>>();
#endif
}

}  // namespace
}  // namespace opgold
