// op: draft_model_postprocess
// class: RACE
// story: Threads without an entry leave before the barrier that the others wait at
//   (https://github.com/flashinfer-ai/flashinfer/pull/424).
// caught by: launch
#include "counted_drafts.cuh"

namespace opgold {
namespace {

__device__ int32_t count(const int64_t* row, int64_t width) {
  __shared__ int32_t sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
#ifdef ZOO_BUG
  if (threadIdx.x >= width) return 0;
#endif
  int32_t own = 0;
  for (int64_t i = threadIdx.x; i < width; i += kThreads) own += row[i] != -1;
  atomicAdd(&sum, own);
  __syncthreads();
  return sum;
}

}  // namespace
}  // namespace opgold
