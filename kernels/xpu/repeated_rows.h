// Packed output rows that repeat what their slot has, a stretch of slots at a time.
#pragma once

#include "xpu/slot_sums.h"

namespace opgold {
namespace xpu {

const int kHeldRows = 256;  // that a core writes at a time

// Writes the rows [begin, end) of a stretch: `starts` are those of `slots` slots from `first_slot` on; with no slots
// all rows are nobody's. held.put(at, count, slot, index) makes `count` rows of a slot, or of none (-1), in local
// memory from place `at` on, `index` being the first one's place in its slot; held.send(row, count) writes them.
template <class Held>
static inline __device__ void repeat_rows(Held& held, _shared_ptr_ const int* starts, int first_slot, int slots,
                                          Int64 begin, Int64 end) {
  for (Int64 from = begin; from < end; from += kHeldRows) {
    const int count = end - from < kHeldRows ? (int)(end - from) : kHeldRows;
    for (int at = 0; at < count;) {
      const Int64 row = from + at;
      const int slot = slots > 0 ? slot_of(starts, slots, (int)row) : 0;
      int run = count - at;
      if (slots > 0 && row >= starts[slot] && row < starts[slot + 1]) {
        if (starts[slot + 1] - row < run) run = (int)(starts[slot + 1] - row);
        held.put(at, run, first_slot + slot, row - starts[slot]);
      } else {
        held.put(at, run, -1, 0);
      }
      at += run;
    }
    mfence_lm();
    held.send(from, count);
  }
}

}  // namespace xpu
}  // namespace opgold
