// Rows of global memory that are copied, or filled, through a core's local memory.
#pragma once

#include "xpu/device.h"

namespace opgold {
namespace xpu {

const int kPiece = 2048;  // bytes that a core holds of a row at a time; there are two pieces

// How cores share rows: a core does every `row_step`-th row from `row`, and of each row every `piece_step`-th piece.
struct RowShare {
  Int64 row, row_step;
  int piece, piece_step;
};

// For `rows` rows of `bytes` each: cores that whole rows leave without work share rows.
static inline __device__ RowShare share_rows(Int64 rows, Int64 bytes) {
  const int cores = all_cores();
  int together = rows < cores && rows > 0 ? cores / (int)rows : 1;
  if (bytes < (Int64)together * kPiece) together = (int)bytes / kPiece + 1;
  RowShare share;
  share.row = core_index() / together;
  share.row_step = cores / together;
  share.piece = core_index() % together;
  share.piece_step = together;
  if (core_index() >= together * (cores / together)) share.row = rows;  // left over
  return share;
}

// The calling core's pieces of one row: `from` null fills it with zeros. A load overlaps with the store before it.
static inline __device__ void copy_row(__global_ptr__ const char* from, __global_ptr__ char* to, Int64 bytes,
                                       const RowShare& share) {
  char pieces[2][kPiece];
  if (from == nullptr)
    for (int i = 0; i < kPiece; ++i) pieces[0][i] = pieces[1][i] = 0;
  mfence_lm();  // functions that have returned may have stored to these bytes, too
  int turn = 0;
  for (Int64 at = (Int64)share.piece * kPiece; at < bytes; at += (Int64)share.piece_step * kPiece) {
    const int count = bytes - at < kPiece ? (int)(bytes - at) : kPiece;
    if (from != nullptr) GM2LM(from + at, pieces[turn], count);
    LM2GM_ASYNC(pieces[turn], to + at, count);
    turn = 1 - turn;
    if (from == nullptr) mfence_lm();
  }
  mfence_lm();
}

}  // namespace xpu
}  // namespace opgold
