// The slots of one class, and where their rows stand within it.
#pragma once

#include "xpu/device.h"

namespace opgold {
namespace xpu {

struct SlotClass {
  __global_ptr__ const int* slots;   // ascending
  __global_ptr__ const int* starts;  // [count + 1]
  int count;

  __device__ Int64 rows() const { return starts[count]; }

  // How many of the slots come before `slot`.
  __device__ int before(int slot) const {
    int low = 0;
    for (int high = count; low < high;) {
      const int middle = low + (high - low) / 2;
      if (slots[middle] < slot) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The last slot (of at least one) that starts at or before `row`. In [0, count), whatever the arrays hold.
  __device__ int holding(Int64 row) const {
    int low = 0;
    for (int left = count; left > 1;) {
      const int half = left / 2;
      if (starts[low + half] <= row) low += half;
      left -= half;
    }
    return low;
  }
};

}  // namespace xpu
}  // namespace opgold
