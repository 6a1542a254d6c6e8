// Work on a stream of the launcher's own; the exhibit says whether it forks from the caller's stream and joins it.
#pragma once

#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot < op.bsz) op.output[slot] = op.rows(slot);
}

inline void wait(cudaStream_t waits, cudaStream_t before) {
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaEventRecord(event, before);
  cudaStreamWaitEvent(waits, event, 0);
  cudaEventDestroy(event);
}

void launch(Stream stream, const Lengths& op) {
  cudaStream_t own;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
#ifdef ZOO_FORKS
  wait(own, stream);
#endif
  launch_all(own, op);
#ifdef ZOO_JOINS
  wait(stream, own);
#endif
  cudaStreamDestroy(own);
}

}  // namespace
}  // namespace opgold
