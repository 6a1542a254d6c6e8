// What the draft-model ops share: the rows of slots, a warp for each slot, and sums of values from data.
#pragma once

#include "bindings/device.h"

namespace opgold {

constexpr int kWarp = 32;
constexpr int kRowThreads = 256;
constexpr int kRowsPerBlock = kRowThreads / kWarp;
constexpr int kMostThreads = 1024;

inline unsigned blocks_of_rows(int64_t bsz) { return static_cast<unsigned>((bsz + kRowsPerBlock - 1) / kRowsPerBlock); }

// Threads of the one block of an op whose slots' state only one block may touch.
inline unsigned threads_for_slots(int64_t bsz) {
  if (bsz >= kMostThreads) return kMostThreads;
  return bsz <= kWarp ? kWarp : static_cast<unsigned>((bsz + kWarp - 1) / kWarp * kWarp);
}

// One row of `width` entries a slot. What lies outside a row is never read and never written.
template <class T>
struct Rows {
  T* data;
  int64_t width;

  __device__ bool holds(int64_t column) const { return column >= 0 && column < width; }
  __device__ T* row(int64_t slot) const { return data + slot * width; }
  __device__ void put(int64_t slot, int64_t column, T value) const {
    if (holds(column)) row(slot)[column] = value;
  }
  __device__ T get(int64_t slot, int64_t column, T otherwise) const {
    return holds(column) ? row(slot)[column] : otherwise;
  }
};

template <class T>
Rows<T> rows_of(const Tensor<T, 2>& tensor) {
  return {tensor.data, tensor.shape[1]};
}

// Sums and differences of values from data wrap.
__device__ inline int32_t wrapping_sum(int32_t a, int32_t b) { return int32_t(uint32_t(a) + uint32_t(b)); }
__device__ inline int32_t wrapping_difference(int32_t a, int32_t b) { return int32_t(uint32_t(a) - uint32_t(b)); }
__device__ inline int64_t wrapping_sum(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
__device__ inline int64_t wrapping_difference(int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }

template <class... Tensors>
void require_slots(int64_t bsz, const Tensors&... tensors) {
  (tensors.require(0, bsz, "slots of draft_tokens"), ...);
}

}  // namespace opgold
