// op: speculate_get_seq_lens_output
// class: RACE
// story: Two streams share the slots, and the event that would make one wait for the other is recorded too early.
// caught by: race
#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot < op.bsz) op.output[slot] = op.rows(slot);
}

void launch(Stream stream, const Lengths& op) {
  cudaStream_t own;
  cudaEvent_t before, after;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&before, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&after, cudaEventDisableTiming);
#ifdef ZOO_BUG
  cudaEventRecord(before, stream);
#endif
  cudaMemsetAsync(op.output, 0, static_cast<size_t>(op.bsz) * sizeof(int32_t), stream);
#ifndef ZOO_BUG
  cudaEventRecord(before, stream);
#endif
  cudaStreamWaitEvent(own, before, 0);
  launch_all(own, op);
  cudaEventRecord(after, own);
  cudaStreamWaitEvent(stream, after, 0);
  cudaEventDestroy(before);
  cudaEventDestroy(after);
  cudaStreamDestroy(own);
}

}  // namespace
}  // namespace opgold
