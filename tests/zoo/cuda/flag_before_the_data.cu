// op: draft_model_postprocess
// class: RACE
// story: Each warp counts a part and raises its flag, for which thread 0 waits; no fence keeps the count before the flag.
// caught by: race
#include "counted_drafts.cuh"

namespace opgold {
namespace {

__device__ int32_t count(const int64_t* row, int64_t width) {
  constexpr int kParts = 2;
  __shared__ int32_t parts[kParts];
  __shared__ int flags[kParts];
  if (threadIdx.x < kParts) flags[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 1) {
    const int part = threadIdx.x / 32;
    int32_t sum = 0;
    for (int64_t i = part; i < width; i += kParts) sum += row[i] != -1;
    parts[part] = sum;
#ifndef ZOO_BUG
    __threadfence_block();
#endif
    atomicExch(&flags[part], 1);
  }
  if (threadIdx.x != 0) return 0;
  int32_t all = 0;
  for (int part = 0; part < kParts; ++part) {
    while (atomicAdd(&flags[part], 0) == 0) __nanosleep(20);
    __threadfence_block();
    all += parts[part];
  }
  return all;
}

}  // namespace
}  // namespace opgold
