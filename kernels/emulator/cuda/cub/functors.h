// The functors that CUB's users pass, and what the block-wide primitives share.
#pragma once

#include "emulator/cuda/cuda_runtime.h"

namespace opgold::emulator {

struct Plus {
  template <class T>
  T operator()(const T& a, const T& b) const { return a + b; }
};

struct Maximum {
  template <class T>
  T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
struct Minimum {
  template <class T>
  T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};

}  // namespace opgold::emulator

namespace cuda {

template <class T = void>
using maximum = opgold::emulator::Maximum;
template <class T = void>
using minimum = opgold::emulator::Minimum;

namespace std {

template <class T = void>
using plus = opgold::emulator::Plus;

}  // namespace std
}  // namespace cuda

namespace cub {

// CUDA 12 and before; from 13 on, units use those of namespace cuda.
using Sum = opgold::emulator::Plus;
using Max = opgold::emulator::Maximum;
using Min = opgold::emulator::Minimum;
struct Equality {
  template <class T>
  bool operator()(const T& a, const T& b) const { return a == b; }
};

OPGOLD_INLINE int linear_thread() {
  const uint3 thread = threadIdx;
  const dim3 extent = blockDim;
  return int((thread.z * extent.y + thread.y) * extent.x + thread.x);
}

}  // namespace cub
