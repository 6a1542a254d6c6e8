// Prefix sums over slots, a stretch of them at a time in a cluster's shared memory, and the slot that holds a row.
#pragma once

#include "xpu/device.h"

namespace opgold {
namespace xpu {

const int kStretch = 1024;  // slots

// Slots of the stretch that starts at `first`.
static inline __device__ int stretch_of(int first, int slots) { return min(kStretch, slots - first); }

// starts[i] becomes `before` and the lengths of the i slots from `first` on; starts[slots] is the end, and returned.
// All cores of the cluster take part, and may read `starts` afterwards until the next call. length(slot) is an int;
// sums wrap. `partial` has kMostCores entries.
template <class Length>
static inline __device__ int sum_slots(const Length& length, int first, int slots, int before,
                                       _shared_ptr_ int* starts, _shared_ptr_ int* partial) {
  int begin, end;
  partition(core_id(), core_num(), slots, 1, &begin, &end);
  int sum = 0;
  for (int i = begin; i < end; ++i) sum = wrapping_sum(sum, length(first + i));
  partial[core_id()] = sum;
  mfence_sm();
  sync_cluster();
  int at = before, whole = before;
  for (int core = 0; core < core_num(); ++core) {
    whole = wrapping_sum(whole, partial[core]);
    if (core < core_id()) at = wrapping_sum(at, partial[core]);
  }
  for (int i = begin; i < end; ++i) {
    starts[i] = at;
    at = wrapping_sum(at, length(first + i));
  }
  if (core_id() == 0) starts[slots] = whole;
  mfence_sm();
  sync_cluster();
  return whole;
}

// The last of `slots` (at least one) slots that starts at or before `row`. Always in [0, slots), whatever `starts` holds.
static inline __device__ int slot_of(_shared_ptr_ const int* starts, int slots, int row) {
  int low = 0;
  for (int count = slots; count > 1;) {
    const int half = count / 2;
    if (starts[low + half] <= row) low += half;
    count -= half;
  }
  return low;
}

}  // namespace xpu
}  // namespace opgold
