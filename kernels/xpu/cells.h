// Single cells of any element type: those of 16-bit floats are structs, which device code holds in local memory only.
#pragma once

#include "xpu/device.h"

namespace opgold {
namespace xpu {

template <class T>
static inline __device__ T load_cell(__global_ptr__ const T* from) {
  T cell;
  mfence_lm();  // an earlier cell has been read
  GM2LM(from, &cell, (int)sizeof(T));
  return cell;
}

template <class T>
static inline __device__ void store_cell(T cell, __global_ptr__ T* to) {
  mfence_lm();
  LM2GM(&cell, to, (int)sizeof(T));
}

}  // namespace xpu
}  // namespace opgold
