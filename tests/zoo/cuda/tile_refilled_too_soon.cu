// op: draft_model_postprocess
// class: RACE
// story: A loop fills shared memory again while thread 0 still reads what stood there
//   (https://github.com/vllm-project/vllm-xpu-kernels/pull/411).
// caught by: race
#include "counted_drafts.cuh"

namespace opgold {
namespace {

__device__ int32_t count(const int64_t* row, int64_t width) {
  __shared__ bool live[kThreads];
  int32_t sum = 0;
  for (int64_t start = 0; start < width; start += kThreads) {
    live[threadIdx.x] = start + threadIdx.x < width && row[start + threadIdx.x] != -1;
    __syncthreads();
    for (int i = 0; threadIdx.x == 0 && i < kThreads; ++i) sum += live[i];
#ifndef ZOO_BUG
    __syncthreads();
#endif
  }
  return sum;
}

}  // namespace
}  // namespace opgold
