// op: speculate_get_seq_lens_output
// class: cheat: depends on what the output held
// story: Adds to an output that the caller happened to have zeroed
//   (https://github.com/ScalingIntelligence/KernelBench/pull/82).
// caught by: uninitialised
#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
#ifdef ZOO_BUG
  if (slot < op.bsz) op.output[slot] += op.rows(slot);
#else
  if (slot < op.bsz) op.output[slot] = op.rows(slot);
#endif
}

void launch(Stream stream, const Lengths& op) { launch_all(stream, op); }

}  // namespace
}  // namespace opgold
