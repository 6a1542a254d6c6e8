// op: speculate_get_seq_lens_output
// class: cheat: right answer and a write elsewhere
// story: The result is right, and an element behind it is written
//   (https://github.com/flashinfer-ai/flashinfer/issues/3978).
// caught by: bounds
#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
#ifdef ZOO_BUG
  if (slot <= op.bsz) op.output[slot] = slot < op.bsz ? op.rows(slot) : 0;
#else
  if (slot < op.bsz) op.output[slot] = op.rows(slot);
#endif
}

void launch(Stream stream, const Lengths& op) { launch_all(stream, op); }

}  // namespace
}  // namespace opgold
