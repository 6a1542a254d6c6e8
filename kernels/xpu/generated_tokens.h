// Generated tokens behind a slot's prompt.
#pragma once

#include "xpu/device.h"

namespace opgold {
namespace xpu {

// The part of a slot's row that lies inside it: entries 0 to count - 1 from `begin` on.
struct Entries {
  Int64 begin;
  Int64 count;
};

static inline __device__ Entries entries_inside(Int64 begin, Int64 count, Int64 width) {
  const bool inside = begin >= 0 && begin <= width && count > 0;
  const Entries entries = {inside ? begin : 0, inside ? min(count, width - begin) : 0};
  return entries;
}

}  // namespace xpu
}  // namespace opgold
