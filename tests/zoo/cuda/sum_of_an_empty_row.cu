// op: draft_model_postprocess
// class: EMPTY
// story: Shared memory is cleared only by a thread that has an entry, and a row of none has none
//   (https://github.com/PaddlePaddle/FastDeploy/pull/6670).
// caught by: uninitialised
#include "counted_drafts.cuh"

namespace opgold {
namespace {

__device__ int32_t count(const int64_t* row, int64_t width) {
  __shared__ int32_t sum;
#ifdef ZOO_BUG
  if (threadIdx.x == 0 && width > 0) sum = 0;
#else
  if (threadIdx.x == 0) sum = 0;
#endif
  __syncthreads();
  int32_t own = 0;
  for (int64_t i = threadIdx.x; i < width; i += kThreads) own += row[i] != -1;
  if (own > 0) atomicAdd(&sum, own);
  __syncthreads();
  return sum;
}

}  // namespace
}  // namespace opgold
