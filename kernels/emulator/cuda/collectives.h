// Block barriers and warp collectives. Each passes its line, which is what two lanes must agree on to meet.
#pragma once

#include <type_traits>

#include "emulator/cuda/runtime.h"

#define OPGOLD_INLINE inline __attribute__((always_inline))

OPGOLD_INLINE void __syncthreads(OPGOLD_PLACE) {
  opgold::emulator::barrier(opgold::emulator::Barrier::plain, 0, file, line);
}
OPGOLD_INLINE int __syncthreads_count(int predicate, OPGOLD_PLACE) {
  return opgold::emulator::barrier(opgold::emulator::Barrier::count, predicate, file, line);
}
OPGOLD_INLINE int __syncthreads_and(int predicate, OPGOLD_PLACE) {
  return opgold::emulator::barrier(opgold::emulator::Barrier::all, predicate, file, line);
}
OPGOLD_INLINE int __syncthreads_or(int predicate, OPGOLD_PLACE) {
  return opgold::emulator::barrier(opgold::emulator::Barrier::any, predicate, file, line);
}

OPGOLD_INLINE void __syncwarp(unsigned mask = 0xffffffffu, OPGOLD_PLACE) {
  opgold::emulator::warp(opgold::emulator::WarpOp::sync, "__syncwarp", mask, 0, 0, file, line);
}

namespace opgold::emulator {

// The lanes of the mask for which the predicate holds.
OPGOLD_INLINE unsigned ballot(const char* name, unsigned mask, bool predicate, const char* file, int line) {
  return unsigned(warp(WarpOp::ballot, name, mask, predicate, 0, file, line));
}

// The bits of a value of up to eight bytes, and back.
template <class T>
OPGOLD_INLINE uint64_t bits_of(const T& value) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "lanes exchange values of up to eight bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
OPGOLD_INLINE T from_bits(uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
OPGOLD_INLINE T shuffle(const char* name, unsigned mask, T value, int lane, const char* file, int line) {
  return from_bits<T>(warp(WarpOp::shuffle, name, mask, bits_of(value), lane, file, line));
}

}  // namespace opgold::emulator

template <class T>
OPGOLD_INLINE T __shfl_sync(unsigned mask, T value, int source, int width = 32, OPGOLD_PLACE) {
  const int own = int(opgold::emulator::lane_index());
  return opgold::emulator::shuffle("__shfl_sync", mask, value, (own & -width) + (source & (width - 1)), file, line);
}
template <class T>
OPGOLD_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, OPGOLD_PLACE) {
  const int own = int(opgold::emulator::lane_index()), lane = own - int(delta);
  return opgold::emulator::shuffle("__shfl_up_sync", mask, value, lane < (own & -width) ? own : lane, file, line);
}
template <class T>
OPGOLD_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, OPGOLD_PLACE) {
  const int own = int(opgold::emulator::lane_index()), lane = own + int(delta);
  return opgold::emulator::shuffle("__shfl_down_sync", mask, value, lane >= (own & -width) + width ? own : lane, file,
                                   line);
}
template <class T>
OPGOLD_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, OPGOLD_PLACE) {
  const int own = int(opgold::emulator::lane_index()), lane = own ^ lane_mask;
  return opgold::emulator::shuffle("__shfl_xor_sync", mask, value, lane >= (own & -width) + width ? own : lane, file,
                                   line);
}

OPGOLD_INLINE unsigned __ballot_sync(unsigned mask, int predicate, OPGOLD_PLACE) {
  return opgold::emulator::ballot("__ballot_sync", mask, predicate != 0, file, line);
}
OPGOLD_INLINE int __any_sync(unsigned mask, int predicate, OPGOLD_PLACE) {
  return opgold::emulator::ballot("__any_sync", mask, predicate != 0, file, line) != 0;
}
OPGOLD_INLINE int __all_sync(unsigned mask, int predicate, OPGOLD_PLACE) {
  return opgold::emulator::ballot("__all_sync", mask, predicate == 0, file, line) == 0;
}
template <class T>
OPGOLD_INLINE unsigned __match_any_sync(unsigned mask, T value, OPGOLD_PLACE) {
  return unsigned(opgold::emulator::warp(opgold::emulator::WarpOp::match, "__match_any_sync", mask,
                                         opgold::emulator::bits_of(value), 0, file, line));
}
OPGOLD_INLINE unsigned __activemask() { return opgold::emulator::active_lanes(); }

#define OPGOLD_REDUCE(T, name, op)                                                                  \
  OPGOLD_INLINE T name(unsigned mask, T value, OPGOLD_PLACE) {                                      \
    using opgold::emulator::WarpOp;                                                                 \
    return T(unsigned(opgold::emulator::warp(WarpOp::op, #name, mask, unsigned(value), 0, file, line))); \
  }
OPGOLD_REDUCE(unsigned, __reduce_add_sync, add)
OPGOLD_REDUCE(unsigned, __reduce_min_sync, min)
OPGOLD_REDUCE(unsigned, __reduce_max_sync, max)
OPGOLD_REDUCE(unsigned, __reduce_and_sync, bit_and)
OPGOLD_REDUCE(unsigned, __reduce_or_sync, bit_or)
OPGOLD_REDUCE(unsigned, __reduce_xor_sync, bit_xor)
OPGOLD_REDUCE(int, __reduce_add_sync, add)
OPGOLD_REDUCE(int, __reduce_min_sync, min_signed)
OPGOLD_REDUCE(int, __reduce_max_sync, max_signed)
