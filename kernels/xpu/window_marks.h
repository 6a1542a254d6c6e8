// Tokens of a window of the vocabulary that lists of ids name: a core has a mark for each in its local memory.
#pragma once

#include "xpu/device.h"

namespace opgold {
namespace xpu {

const int kWindow = 1024;       // tokens
const int kWindowPiece = 1024;  // bytes of a row's window that a core holds at a time
const int kHeldIds = 64;        // of a list

// The windows of all slots, dealt to all cores. Those of a slot go to different cores, whatever its rows.
struct SlotWindow {
  Int64 slot;
  Int64 first;  // token

  __device__ void start(int slots) {
    slot = core_index() % slots;
    first = (Int64)(core_index() / slots) * kWindow;
  }
  __device__ void advance(int slots) {
    slot += all_cores() % slots;
    first += (Int64)(all_cores() / slots) * kWindow;
    if (slot >= slots) {
      slot -= slots;
      first += kWindow;
    }
  }
  __device__ int size(Int64 vocab) const { return (int)min((Int64)kWindow, vocab - first); }
};

// For each id that is token first + i of the window: the mark i gets `bit`, and then grows by `step`. Says whether
// there is one.
static inline __device__ bool mark_ids(__global_ptr__ const Int64* ids, Int64 count, Int64 first, int size,
                                       unsigned bit, unsigned step, unsigned* marks) {
  Int64 held[kHeldIds];
  bool found = false;
  for (Int64 at = 0; at < count; at += kHeldIds) {
    const int piece = (int)min((Int64)kHeldIds, count - at);
    mfence_lm();  // those held before have been read
    GM2LM(ids + at, held, piece * (int)sizeof(Int64));
    for (int i = 0; i < piece; ++i) {
      if (held[i] < first || held[i] >= first + size) continue;
      const int token = (int)(held[i] - first);
      marks[token] = (marks[token] | bit) + step;
      found = true;
    }
  }
  return found;
}

}  // namespace xpu
}  // namespace opgold
