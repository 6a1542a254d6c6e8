// What every kernel starts from: the vendor's language, and the cores of all clusters in one row.
#pragma once

#include <xpu/kernel/cluster.h>
#include <xpu/kernel/cluster_partition.h>
#include <xpu/kernel/cluster_primitive.h>

#include "xpu/integers.h"

namespace opgold {
namespace xpu {

const int kMostCores = 64;  // of a cluster

static inline __device__ int core_index() { return cluster_id() * core_num() + core_id(); }
static inline __device__ int all_cores() { return cluster_num() * core_num(); }

// Sums of values from data wrap.
static inline __device__ int wrapping_sum(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
static inline __device__ Int64 wrapping_sum(Int64 a, Int64 b) {
  return (Int64)((unsigned long long)a + (unsigned long long)b);
}

}  // namespace xpu
}  // namespace opgold
