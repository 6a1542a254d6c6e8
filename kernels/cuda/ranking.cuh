// The greatest values of a row, in order: 32 ranks held by the lanes of a warp.
#pragma once

#include "bindings/device.h"

namespace opgold {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

// A positive value and its id as one number: greater values are greater, of equal values those of lower ids. 0: none.
__device__ inline uint64_t ranking_key(float value, uint32_t id) {
  return uint64_t(__float_as_uint(value)) << 32 | uint32_t(~id);
}
__device__ inline float value_of(uint64_t key) { return __uint_as_float(uint32_t(key >> 32)); }
__device__ inline uint32_t id_of(uint64_t key) { return ~uint32_t(key); }

// Lane k holds the key of rank k. Only keys below `below` enter.
struct Ranks {
  uint64_t key = 0;
  uint64_t below;
  int wanted;           // ranks that count, 1 to 32
  float threshold = 0;  // a value must exceed it to enter: the last rank's

  __device__ Ranks(uint64_t below_, int wanted_) : below(below_), wanted(wanted_) {}

  __device__ void insert(uint64_t entering, int lane) {
    const int place = __popc(__ballot_sync(kAllLanes, key > entering));
    const uint64_t above = __shfl_up_sync(kAllLanes, key, 1);
    if (lane == place) key = entering;
    else if (lane > place) key = above;
    threshold = fmaxf(threshold, value_of(__shfl_sync(kAllLanes, key, wanted - 1)));
  }

  // Given each lane's greatest value, of different lanes for different ids: as many as are wanted are at least the
  // last wanted of these, so that nothing below it need enter. Saves most of the insertions of a row's beginning.
  __device__ void raise_threshold(float most, int lane) {
#pragma unroll
    for (int size = 2; size <= kWarp; size *= 2)
#pragma unroll
      for (int distance = size / 2; distance > 0; distance /= 2) {
        const float partner = __shfl_xor_sync(kAllLanes, most, distance);
        const bool keeps_greater = ((lane & distance) == 0) == ((lane & size) == 0);
        most = keeps_greater ? fmaxf(most, partner) : fminf(most, partner);
      }
    const float last = __shfl_sync(kAllLanes, most, wanted - 1);
    if (last > 0) threshold = fmaxf(threshold, __uint_as_float(__float_as_uint(last) - 1));  // equal ones enter
  }

  // Each lane offers `count` values of consecutive ids, lane after lane from `first_id`. Ids offered later must be
  // higher, so that a value equal to the threshold is never needed. NaN and what is not positive never enter.
  template <int count>
  __device__ void offer(const float (&values)[count], uint32_t first_id, int lane) {
    float most = values[0];
#pragma unroll
    for (int i = 1; i < count; ++i) most = fmaxf(most, values[i]);
    for (unsigned lanes = __ballot_sync(kAllLanes, most > threshold); lanes;) {
      const int from = __ffs(int(lanes)) - 1;
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const float value = __shfl_sync(kAllLanes, values[i], from);
        const uint64_t entering = ranking_key(value, first_id + uint32_t(from * count + i));
        if (value > threshold && entering < below) insert(entering, lane);
      }
      lanes &= lanes - 1;
      lanes &= __ballot_sync(kAllLanes, most > threshold);
    }
  }

  // Takes in the ranks of another warp, lane k's being `other`: of both lists the greater at mirrored places, which
  // fall and then rise, sorted again.
  __device__ void merge(uint64_t other, int lane) {
    const uint64_t mirrored = __shfl_xor_sync(kAllLanes, other, kWarp - 1);
    if (mirrored > key) key = mirrored;
#pragma unroll
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
      const uint64_t partner = __shfl_xor_sync(kAllLanes, key, distance);
      const bool keeps_greater = (lane & distance) == 0;
      if (keeps_greater == (partner > key)) key = partner;
    }
  }
};

__device__ inline float as_float(float value) { return value; }
__device__ inline float as_float(Half value) { return __half2float(value); }
__device__ inline float as_float(BFloat16 value) { return __bfloat162float(value); }

// A warp's part of a row, in rising ids: its share of the vectors, 16 values of each lane in flight; the first warp
// also takes what lies before the first aligned vector, the last one what lies behind the last.
template <class Element>
__device__ void rank_row(const Element* row, int64_t width, int warp, int warps, int lane, Ranks& ranks) {
  constexpr int kPerVector = sizeof(uint4) / sizeof(Element);
  constexpr int kVectors = 16 / kPerVector;
  union Vector {
    uint4 bits;
    Element elements[kPerVector];
    __device__ Vector() {}
  };
  const auto scalars = [&](int64_t begin, int64_t end) {
    const float value[1] = {begin + lane < end ? as_float(row[begin + lane]) : 0.0f};
    ranks.offer(value, uint32_t(begin), lane);
  };
  const int64_t misaligned = int64_t(reinterpret_cast<uintptr_t>(row) % sizeof(uint4) / sizeof(Element));
  int64_t head = misaligned ? kPerVector - misaligned : 0;
  if (head > width) head = width;
  const int64_t vectors = (width - head) / kPerVector;
  const uint4* aligned = reinterpret_cast<const uint4*>(row + head);

  if (warp == 0 && head > 0) scalars(0, head);
  for (int64_t base = int64_t(warp) * kVectors * kWarp; base < vectors; base += int64_t(warps) * kVectors * kWarp) {
    Vector held[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int64_t index = base + v * kWarp + lane;
      held[v].bits = make_uint4(0, 0, 0, 0);
      if (index < vectors) held[v].bits = aligned[index];
    }
    float values[kVectors][kPerVector];
    float most = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
#pragma unroll
      for (int i = 0; i < kPerVector; ++i) {
        values[v][i] = as_float(held[v].elements[i]);
        most = fmaxf(most, values[v][i]);
      }
    if (ranks.below == UINT64_MAX && base < kVectors * kWarp * warps) ranks.raise_threshold(most, lane);
    if (!__any_sync(kAllLanes, most > ranks.threshold)) continue;
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
      ranks.offer(values[v], uint32_t(head + (base + v * kWarp) * kPerVector), lane);
  }
  const int64_t tail = head + vectors * kPerVector;
  if (warp == warps - 1 && tail < width) scalars(tail, width);
}

}  // namespace opgold
