// Rows that are copied in runs: some that follow each other on both sides.
#pragma once

#include "xpu/copies.h"

namespace opgold {
namespace xpu {

struct Run {
  Int64 source;  // the row that the first one comes from; -1: they become zeros
  Int64 rows;    // at least 1
};

// Writes the calling core's share of the `to_rows` rows of `to`. runs.from(row) is the run that starts at `row`: what is
// no row of `from` is read as zeros.
template <class Runs>
static inline __device__ void copy_runs(const Runs& runs, __global_ptr__ const char* from, int from_rows,
                                        __global_ptr__ char* to, int to_rows, Int64 row_bytes) {
  const RowShare share = share_rows(to_rows, row_bytes);
  int begin = 0, end = 0;
  if (share.row < share.row_step) partition((int)share.row, (int)share.row_step, to_rows, 1, &begin, &end);
  for (int row = begin; row < end;) {
    const Run run = runs.from(row);
    const bool held = run.source >= 0 && run.source < from_rows;
    Int64 rows = min((Int64)(end - row), run.rows);
    if (held) rows = min(rows, from_rows - run.source);
    mfence_lm();  // what worked the run out may have used the same local memory
    copy_row(held ? from + run.source * row_bytes : nullptr, to + row * row_bytes, rows * row_bytes, share);
    row += (int)rows;
  }
}

}  // namespace xpu
}  // namespace opgold
