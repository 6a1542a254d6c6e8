// op: speculate_get_seq_lens_output
// class: cheat: synchronises
// story: The launcher waits for its own work, which no graph can capture
//   (https://github.com/PaddlePaddle/FastDeploy/pull/8032).
// caught by: launch
#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot < op.bsz) op.output[slot] = op.rows(slot);
}

void launch(Stream stream, const Lengths& op) {
  launch_all(stream, op);
#ifdef ZOO_BUG
  cudaStreamSynchronize(stream);
  cudaGetLastError();
#else
#endif
}

}  // namespace
}  // namespace opgold
