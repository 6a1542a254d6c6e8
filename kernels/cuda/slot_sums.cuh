// Prefix sums over few slots, behind one barrier: every block of a launch works them out for itself.
#pragma once

#include "packing.cuh"

namespace opgold {

// Starts of up to kPer * kThreads slots. Thread t takes in slots t, t + kThreads, ..., so that a warp's are one group.
// Sums wrap rather than overflow: lengths come from data.
template <int kPer>
struct SlotSums {
  static constexpr int kSlots = kPer * kThreads;
  static constexpr int kGroup = 32;
  static constexpr int kGroups = kSlots / kGroup;

  uint32_t groups[kGroups];    // the sum of each group of slots
  int32_t starts[kSlots + 1];  // each slot's start in its group, or after finish(), among all slots

  __device__ static int slot_of_thread(int k) { return k * kThreads + static_cast<int>(threadIdx.x); }

  // Takes in length(slot) of all slots, all loaded at once; `own` are the calling thread's. Before the sums are asked
  // for there must be a barrier.
  template <class Length>
  __device__ void add(Length length, int64_t bsz, uint32_t (&own)[kPer]) {
#pragma unroll
    for (int k = 0; k < kPer; ++k) own[k] = slot_of_thread(k) < bsz ? length(slot_of_thread(k)) : 0;
#pragma unroll
    for (int k = 0; k < kPer; ++k) {
      uint32_t sum = own[k];
#pragma unroll
      for (unsigned step = 1; step < kGroup; step *= 2) {
        const uint32_t before = __shfl_up_sync(~0u, sum, step);
        if (threadIdx.x % kGroup >= step) sum += before;
      }
      const int slot = slot_of_thread(k);
      starts[slot] = static_cast<int32_t>(sum - own[k]);
      if (slot % kGroup == kGroup - 1) groups[slot / kGroup] = sum;
    }
  }

  __device__ uint32_t sum_of_groups(int count) const {
    uint32_t sum = 0;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) sum += g < count ? groups[g] : 0;
    return sum;
  }
  __device__ uint32_t start(int slot) const {
    return sum_of_groups(slot / kGroup) + static_cast<uint32_t>(starts[slot]);
  }
  __device__ uint32_t total() const { return sum_of_groups(kGroups); }

  // Makes `starts` a prefix sum of all slots, with slots behind the batch empty. To be read after another barrier.
  __device__ void finish() {
    uint32_t own[kPer];
#pragma unroll
    for (int k = 0; k < kPer; ++k) own[k] = start(slot_of_thread(k));
#pragma unroll
    for (int k = 0; k < kPer; ++k) starts[slot_of_thread(k)] = static_cast<int32_t>(own[k]);
    if (threadIdx.x == 0) starts[kSlots] = static_cast<int32_t>(total());
  }

  template <class Length>
  __device__ void scan(Length length, int64_t bsz) {
    uint32_t own[kPer];
    add(length, bsz, own);
    __syncthreads();
    finish();
    __syncthreads();
  }

  // The prefix sum, element 0 included, into `prefix` of bsz + 1 entries.
  template <class Length>
  __device__ void write_prefix(Length length, int64_t bsz, int32_t* prefix) {
    uint32_t own[kPer];
    add(length, bsz, own);
    __syncthreads();
    if (threadIdx.x == 0) prefix[0] = 0;
#pragma unroll
    for (int k = 0; k < kPer; ++k) {
      const int slot = slot_of_thread(k);
      if (slot < bsz) prefix[slot + 1] = static_cast<int32_t>(start(slot) + own[k]);
    }
  }

  // A packed row's place after finish(). The count of slots is a constant, so that the search has no loop.
  __device__ Place place(int64_t row) const { return place_of(starts, kSlots, row); }
};

// What few slots are: a kernel for them has kPer 1 where there are at most kThreads, else this.
constexpr int kMostPer = 4;
constexpr int64_t kFewSlots = kMostPer * kThreads;

}  // namespace opgold
