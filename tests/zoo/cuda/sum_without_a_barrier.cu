// op: draft_model_postprocess
// class: RACE
// story: Thread 0 adds up what the others may not have stored yet
//   (https://github.com/flashinfer-ai/flashinfer/pull/424).
// caught by: race
// perhaps: overflow
#include "counted_drafts.cuh"

namespace opgold {
namespace {

__device__ int32_t count(const int64_t* row, int64_t width) {
  __shared__ int32_t partial[kThreads];
  int32_t own = 0;
  for (int64_t i = threadIdx.x; i < width; i += kThreads) own += row[i] != -1;
  partial[threadIdx.x] = own;
#ifndef ZOO_BUG
  __syncthreads();
#endif
  int32_t sum = 0;
  for (int i = 0; threadIdx.x == 0 && i < kThreads; ++i) sum += partial[i];
  return sum;
}

}  // namespace
}  // namespace opgold
