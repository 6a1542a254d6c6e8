// op: draft_model_postprocess
// class: RACE
// story: A reduction of before Volta: volatile shared memory in the place of __syncwarp, for lanes that once ran in
//   lockstep (https://docs.nvidia.com/cuda/volta-tuning-guide/#independent-thread-scheduling).
// caught by: race, values
// perhaps: overflow
#include "counted_drafts.cuh"

namespace opgold {
namespace {

__device__ int32_t count(const int64_t* row, int64_t width) {
  __shared__ volatile int32_t sums[kThreads];
  int32_t sum = 0;
  for (int64_t i = threadIdx.x; i < width; i += kThreads) sum += row[i] != -1;
  sums[threadIdx.x] = sum;
  __syncthreads();
  const int lane = threadIdx.x;
  if (lane >= 32) return 0;
  for (int half = 32; half > 0; half /= 2) {
    sum += sums[lane + half];
#ifndef ZOO_BUG
    __syncwarp();
#endif
    sums[lane] = sum;
#ifndef ZOO_BUG
    __syncwarp();
#endif
  }
  return sum;
}

}  // namespace
}  // namespace opgold
