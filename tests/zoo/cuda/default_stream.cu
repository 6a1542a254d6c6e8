// op: speculate_get_seq_lens_output
// class: cheat: work on another stream
// story: The launch goes to the default stream, so that the caller's stream does not wait for it
//   (https://github.com/ScalingIntelligence/KernelBench/pull/82).
// caught by: launch
#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot < op.bsz) op.output[slot] = op.rows(slot);
}

void launch(Stream stream, const Lengths& op) {
#ifdef ZOO_BUG
  (void)stream;
  launch_all(nullptr, op);
#else
  launch_all(stream, op);
#endif
}

}  // namespace
}  // namespace opgold
