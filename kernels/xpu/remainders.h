// Remainders of 64-bit numbers, which the device itself has for 32 bits only.
#pragma once

#include "xpu/device.h"

namespace opgold {
namespace xpu {

// `modulus` is at least 1.
static inline __device__ unsigned long long remainder_of(unsigned long long value, unsigned long long modulus) {
  if (value < modulus) return value;
  unsigned long long multiple = modulus;
  while (multiple <= value - multiple) multiple += multiple;
  for (;;) {
    if (value >= multiple) value -= multiple;
    if (multiple == modulus) return value;
    multiple >>= 1;
  }
}

}  // namespace xpu
}  // namespace opgold
