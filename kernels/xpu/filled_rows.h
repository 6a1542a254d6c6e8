// Rows that are copied from a row of a source, or filled with a pattern.
#pragma once

#include "xpu/copies.h"

namespace opgold {
namespace xpu {

const int kFill = 256;  // bytes of a row that are filled at a time

// What a row of an output holds: a row of the source, or where `source` is none of them, `fill`.
struct Filling {
  Int64 source;
  int fill;
};

// The calling core's pieces of one row.
static inline __device__ void fill_row(int fill, __global_ptr__ char* to, Int64 bytes, const RowShare& share) {
  int piece[kFill / (int)sizeof(int)];
  for (int i = 0; i < kFill / (int)sizeof(int); ++i) piece[i] = fill;
  mfence_lm();
  for (Int64 at = (Int64)share.piece * kFill; at < bytes; at += (Int64)share.piece_step * kFill)
    LM2GM_ASYNC(piece, to + at, bytes - at < kFill ? (int)(bytes - at) : kFill);
  mfence_lm();
}

// Row by row what `fillings.filling(row)` says.
template <class Fillings>
static inline __device__ void fill_rows(const Fillings& fillings, __global_ptr__ const char* source, Int64 source_rows,
                                        __global_ptr__ char* out, Int64 rows, Int64 row_bytes) {
  const RowShare share = share_rows(rows, row_bytes);
  for (Int64 row = share.row; row < rows; row += share.row_step) {
    const Filling filling = fillings.filling(row);
    if (filling.source >= 0 && filling.source < source_rows)
      copy_row(source + filling.source * row_bytes, out + row * row_bytes, row_bytes, share);
    else
      fill_row(filling.fill, out + row * row_bytes, row_bytes, share);
  }
}

}  // namespace xpu
}  // namespace opgold
