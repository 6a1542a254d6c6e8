// op: speculate_get_seq_lens_output
// class: cheat: wrong tail
// story: Right in the first 256 slots, which is as far as small tests look
//   (https://github.com/flashinfer-ai/flashinfer/pull/5201).
// caught by: values
#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
#ifdef ZOO_BUG
  if (slot < op.bsz) op.output[slot] = slot < 256 ? op.rows(slot) : 0;
#else
  if (slot < op.bsz) op.output[slot] = op.rows(slot);
#endif
}

void launch(Stream stream, const Lengths& op) { launch_all(stream, op); }

}  // namespace
}  // namespace opgold
