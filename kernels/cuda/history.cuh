// Generated tokens behind a slot's prompt, and vectors of a row's elements with a mark for each.
#pragma once

#include "draft_rows.cuh"

namespace opgold {

inline void require_layout(int64_t history_layout) {
  if (history_layout != 0 && history_layout != 1)
    throw ArgumentError("history_layout", "is ", history_layout, ", expected 0 (count) or 1 (index)");
}

// The arrays of a step's `bsz` slots have room for more.
inline void require_at_least(int64_t slots, int64_t bsz) {
  if (slots < bsz) throw ArgumentError("prompt_lens", "dimension 0 is ", slots, ", expected at least ", bsz);
}

template <class... Tensors>
void require_same_slots(int64_t slots, const Tensors&... tensors) {
  (tensors.require(0, slots, "slots of prompt_lens"), ...);
}

// The part of a slot's row that lies inside it: entries 0 to count - 1 from `begin` on.
struct Entries {
  int64_t begin;
  int64_t count;
};

__device__ inline Entries entries_inside(int64_t begin, int64_t count, int64_t width) {
  if (begin < 0 || begin > width || count < 0) return {0, 0};
  return {begin, count < width - begin ? count : width - begin};
}

// Some tokens are marked, one bit each.
__device__ inline void mark(uint32_t* words, unsigned index) { atomicOr(&words[index / 32], 1u << index % 32); }
__device__ inline bool marked(const uint32_t* words, unsigned index) { return words[index / 32] >> index % 32 & 1u; }

// The marks of `Count` tokens from `index` on. One word behind the last token's must be readable.
template <unsigned Count>
__device__ uint32_t marks_from(const uint32_t* words, unsigned index) {
  const uint64_t both = uint64_t(words[index / 32 + 1]) << 32 | words[index / 32];
  return uint32_t(both >> index % 32) & ((1u << Count) - 1);
}

// Sixteen bytes of a row.
template <class T>
struct alignas(16) Pack {
  static constexpr unsigned size = 16 / sizeof(T);
  T values[size];
};

// How many elements come before the first that stands at a multiple of 16 bytes.
template <class T>
__device__ unsigned elements_to_alignment(const T* address) {
  const unsigned past = unsigned(reinterpret_cast<uintptr_t>(address) % 16 / sizeof(T));
  return past ? Pack<T>::size - past : 0;
}

}  // namespace opgold
