// Small sets of token ids.
#pragma once

#include "xpu/device.h"

namespace opgold {
namespace xpu {

static inline __device__ bool is_among(Int64 token, __global_ptr__ const Int64* ids, Int64 count) {
  for (Int64 i = 0; i < count; ++i)
    if (ids[i] == token) return true;
  return false;
}

}  // namespace xpu
}  // namespace opgold
