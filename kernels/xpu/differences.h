// Differences of values from data wrap.
#pragma once

#include "xpu/device.h"

namespace opgold {
namespace xpu {

static inline __device__ int wrapping_difference(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
static inline __device__ Int64 wrapping_difference(Int64 a, Int64 b) {
  return (Int64)((unsigned long long)a - (unsigned long long)b);
}

}  // namespace xpu
}  // namespace opgold
