// Rows that are moved from one buffer to another.
#pragma once

#include "xpu/copies.h"

namespace opgold {
namespace xpu {

// Rows of `bytes` each. Nothing outside the buffers is read or written.
struct MovedRows {
  __global_ptr__ const char* from;
  Int64 sources;
  __global_ptr__ char* to;
  Int64 rows;
  Int64 bytes;

  __device__ RowShare share() const { return share_rows(rows, bytes); }
  __device__ __global_ptr__ const char* source(Int64 row) const {
    return row >= 0 && row < sources ? from + row * bytes : nullptr;
  }
  // Writes what is at `source` to `row`; nothing unless both are there.
  __device__ void copy(__global_ptr__ const char* source, Int64 row, const RowShare& own) const {
    if (source != nullptr && row < rows) copy_row(source, to + row * bytes, bytes, own);
  }
  // Writes it to `row`, which is there, or zeros if it is not.
  __device__ void set(__global_ptr__ const char* source, Int64 row, const RowShare& own) const {
    copy_row(source, to + row * bytes, bytes, own);
  }
};

}  // namespace xpu
}  // namespace opgold
