// op: speculate_get_seq_lens_output
// class: RACE
// story: Half of a block leaves its counts in shared memory and ends; that a thread has ended does not mean that the
//   others see what it wrote.
// caught by: race, uninitialised
#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
  __shared__ int32_t rows[kThreads];
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  rows[threadIdx.x] = slot < op.bsz ? op.rows(slot) : 0;
#ifndef ZOO_BUG
  __syncthreads();
#endif
  if (threadIdx.x >= kThreads / 2) return;
  for (int i = threadIdx.x; i < kThreads; i += kThreads / 2) {
    const int64_t to = blockIdx.x * int64_t(kThreads) + i;
    if (to < op.bsz) op.output[to] = rows[i];
  }
}

void launch(Stream stream, const Lengths& op) { launch_all(stream, op); }

}  // namespace
}  // namespace opgold
