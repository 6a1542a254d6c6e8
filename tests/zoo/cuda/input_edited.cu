// op: speculate_get_seq_lens_output
// class: cheat: input edited
// story: The encoder lengths are cleared, so that a reference that runs later agrees
//   (https://github.com/ScalingIntelligence/KernelBench/pull/82).
// caught by: inputs
#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot >= op.bsz) return;
#ifdef ZOO_BUG
  const_cast<int32_t*>(op.encoder)[slot] = 0;
  op.output[slot] = op.this_time[slot];
#else
  op.output[slot] = op.rows(slot);
#endif
}

void launch(Stream stream, const Lengths& op) { launch_all(stream, op); }

}  // namespace
}  // namespace opgold
