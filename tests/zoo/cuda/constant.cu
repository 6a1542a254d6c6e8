// op: speculate_get_seq_lens_output
// class: cheat: constant
// story: One row a slot, whatever the slot is; a batch of prompts does not tell
//   (https://github.com/ScalingIntelligence/KernelBench/issues/165).
// caught by: values
#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
#ifdef ZOO_BUG
  if (slot < op.bsz) op.output[slot] = 1;
#else
  if (slot < op.bsz) op.output[slot] = op.rows(slot);
#endif
}

void launch(Stream stream, const Lengths& op) { launch_all(stream, op); }

}  // namespace
}  // namespace opgold
