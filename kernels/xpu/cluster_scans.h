// Scans and maxima over the cores of a cluster.
#pragma once

#include "xpu/device.h"

namespace opgold {
namespace xpu {

struct CoreSum {
  Int64 before;  // of the cores before the calling one
  Int64 all;
};

// The sums of the cores' `own`. All of them take part; `partial` has kMostCores entries, and may be written again at
// once. Sums wrap.
static inline __device__ CoreSum scan_over_cluster(Int64 own, _shared_ptr_ Int64* partial) {
  partial[core_id()] = own;
  mfence_sm();
  sync_cluster();
  CoreSum sum = {0, 0};
  for (int core = 0; core < core_num(); ++core) {
    if (core == core_id()) sum.before = sum.all;
    sum.all = wrapping_sum(sum.all, partial[core]);
  }
  mfence_sm();
  sync_cluster();
  return sum;
}

// The largest `own`, under the same terms.
static inline __device__ Int64 max_over_cluster(Int64 own, _shared_ptr_ Int64* partial) {
  partial[core_id()] = own;
  mfence_sm();
  sync_cluster();
  Int64 most = own;
  for (int core = 0; core < core_num(); ++core)
    if (partial[core] > most) most = partial[core];
  mfence_sm();
  sync_cluster();
  return most;
}

}  // namespace xpu
}  // namespace opgold
