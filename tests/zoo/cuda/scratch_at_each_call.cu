// op: speculate_get_seq_lens_output
// class: LEAK
// story: Each call takes device memory and never gives it back, which no graph can capture either
//   (https://github.com/PaddlePaddle/FastDeploy/pull/6603).
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
  void* scratch = nullptr;
  cudaMalloc(&scratch, 4096);
  cudaGetLastError();
#else
#endif
  launch_all(stream, op);
}

}  // namespace
}  // namespace opgold
