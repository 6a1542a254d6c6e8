// The rows of slots that the draft-model ops write. Nothing outside a row is read or written.
#pragma once

#include "xpu/differences.h"
#include "xpu/whole_rows.h"

namespace opgold {
namespace xpu {

// One row of `width` entries a slot.
template <class T>
struct Rows {
  __global_ptr__ T* data;
  Int64 width;

  __device__ bool holds(Int64 column) const { return column >= 0 && column < width; }
  __device__ __global_ptr__ T* row(Int64 slot) const { return data + slot * width; }
  __device__ T get(Int64 slot, Int64 column, T otherwise) const {
    return holds(column) ? row(slot)[column] : otherwise;
  }
  __device__ void put(Int64 slot, Int64 column, T value) const {
    if (holds(column)) row(slot)[column] = value;
  }
};

// Puts the first `count` tokens of a slot's row into another of its rows, from `column` on.
static inline __device__ void put_tokens(const Rows<const Int64>& from, Int64 count, const Rows<Int64>& to,
                                         Int64 column, Int64 slot) {
  const Int64 held = min(count, from.width);
  if (column <= -held || column >= to.width) return;
  const Int64 begin = column < 0 ? -column : 0;
  const Int64 end = min(held, to.width - column);
  copy_tokens(from.row(slot) + begin, to.row(slot) + column + begin, end - begin);
}

}  // namespace xpu
}  // namespace opgold
