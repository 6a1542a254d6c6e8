// One block for all slots, whose flag hangs on state that it writes: a group of its threads does a slot.
#pragma once

#include "draft_rows.cuh"
#include "slot_buffers.cuh"

namespace opgold {

// `lanes` threads, a power of two of at most a warp, are a group: as many as a row has columns, while all groups of a
// batch fit the block at once.
struct SlotGroups {
  int lanes;
  unsigned threads;

  static SlotGroups of(int64_t slots, int64_t columns) {
    int lanes = 1;
    while (lanes < kWarp && lanes < columns && 2 * lanes * slots <= kMostThreads) lanes *= 2;
    return {lanes, threads_for_slots(slots < kMostThreads ? lanes * slots : kMostThreads)};
  }

  // Calls `body(slot, lane)` for every slot in turn, by all threads at once: also for slots that are none.
  template <class Body>
  __device__ void for_each_slot(int64_t slots, Body body) const {
    const int groups = int(blockDim.x) / lanes, group = int(threadIdx.x) / lanes;
    for (int64_t first = 0; first < slots; first += groups) body(first + group, int(threadIdx.x) % lanes);
  }
};

}  // namespace opgold
