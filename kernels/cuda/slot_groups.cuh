// One block for all slots, whose flag hangs on state that it writes: a warp does a group of slots.
//
// A lane does a slot's state, which it alone reads and writes; a row gets kRowLanes lanes, and the warp takes its
// group's rows in kPasses passes. So a state is worked out once, and a row is touched in whole sectors.
#pragma once

#include "draft_rows.cuh"
#include "slot_buffers.cuh"

namespace opgold {

constexpr int kSlotsPerWarp = 32;
constexpr int kRowLanes = 8;
constexpr int kRowsPerPass = kWarp / kRowLanes;
constexpr int kPasses = kSlotsPerWarp / kRowsPerPass;

inline unsigned threads_for_groups(int64_t slots) {
  return threads_for_slots(slots < kMostThreads ? slots * (kWarp / kSlotsPerWarp) : kMostThreads);
}

// The calling thread's part of a group.
struct SlotGroup {
  int64_t first;   // slot of the group
  unsigned count;  // its slots
  unsigned lane;

  __device__ bool owns() const { return lane < count; }
  __device__ int64_t slot() const { return first + lane; }
  // In a pass: the place in the group of the row's slot. The lane's columns: every kRowLanes-th from column().
  __device__ unsigned place(int pass) const { return pass * kRowsPerPass + lane / kRowLanes; }
  __device__ unsigned column() const { return lane % kRowLanes; }

  // Calls `body(pass, cell)` for the lane's cell of each of the group's rows in the kRowLanes columns from `begin` on.
  template <class T, class Body>
  __device__ void for_each_cell(const Rows<T>& rows, int64_t begin, Body body) const {
    const int64_t column = begin + this->column();
    const unsigned places = column < rows.width ? count : 0;
    T* cell = rows.row(first + place(0)) + column;
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      if (place(pass) < places) body(pass, *cell);
      cell += kRowsPerPass * rows.width;
    }
  }

  // The tokens of those cells, 0 where there is none. Nothing waits for them here.
  template <class T>
  __device__ void load(const Rows<T>& rows, int64_t begin, int64_t (&tokens)[kPasses]) const {
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) tokens[pass] = 0;
    for_each_cell(rows, begin, [&](int pass, T& cell) { tokens[pass] = cell; });
  }
};

// Calls `body(group)` for every group in turn, by all threads of the block at once: also for groups without slots.
template <class Body>
__device__ void for_each_group(int64_t slots, Body body) {
  const unsigned warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
#pragma unroll 1
  for (int64_t round = 0; round < slots; round += warps * kSlotsPerWarp) {
    const int64_t first = round + warp * kSlotsPerWarp, left = slots - first;
    body(SlotGroup{first, left < 0 ? 0u : left < kSlotsPerWarp ? unsigned(left) : unsigned(kSlotsPerWarp),
                   threadIdx.x % kWarp});
  }
}

}  // namespace opgold
