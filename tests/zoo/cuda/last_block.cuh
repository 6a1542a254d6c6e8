// All blocks write; the last one to come reads it all. The exhibit defines the fences before and after the counter.
#pragma once

#include "output_lengths.cuh"

namespace opgold {
namespace {

__device__ unsigned done;

__global__ void count(Lengths op) {
  __shared__ bool last;
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot < op.bsz) op.output[slot] = op.this_time[slot];
  ZOO_RELEASE();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&done, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  if (threadIdx.x == 0) done = 0;
  ZOO_ACQUIRE();
  for (int64_t i = threadIdx.x; i < op.bsz; i += kThreads)
    if (op.output[i] > 0 && op.encoder[i] > 0) op.output[i] = 1;
}

void launch(Stream stream, const Lengths& op) { launch_all(stream, op); }

}  // namespace
}  // namespace opgold
