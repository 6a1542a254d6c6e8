// Sums over the cores of a cluster.
#pragma once

#include "xpu/device.h"

namespace opgold {
namespace xpu {

// The sum of every core's `own`, for all cores. All of them take part; `partial` has kMostCores entries, and may be
// written again only behind another barrier. Sums wrap.
template <class T>
static inline __device__ T sum_over_cluster(T own, _shared_ptr_ T* partial) {
  partial[core_id()] = own;
  mfence_sm();
  sync_cluster();
  T sum = 0;
  for (int core = 0; core < core_num(); ++core) sum = wrapping_sum(sum, partial[core]);
  return sum;
}

}  // namespace xpu
}  // namespace opgold
