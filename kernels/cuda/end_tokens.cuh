// The ids that end a text. The first ones are asked for before there is a token to compare with.
#pragma once

#include "bindings/device.h"

namespace opgold {

struct EndTokens {
  static constexpr int kHeld = 2;

  const int64_t* ids;
  int64_t count;
  int64_t held[kHeld];

  __device__ EndTokens(const int64_t* ids, int64_t count) : ids(ids), count(count), held{} {
    if (count > 0)
      for (int k = 0; k < kHeld; ++k) held[k] = ids[k < count ? k : 0];
  }

  // The one that is put where a text is cut, or `otherwise` if there is none.
  __device__ int64_t first(int64_t otherwise) const { return count > 0 ? held[0] : otherwise; }

  __device__ bool has(int64_t token) const {
    bool found = false;
    for (int k = 0; k < kHeld; ++k) found |= held[k] == token;
    found &= count > 0;
#pragma unroll 1
    for (int64_t k = kHeld; k < count; ++k) found |= ids[k] == token;
    return found;
  }
};

}  // namespace opgold
