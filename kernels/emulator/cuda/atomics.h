// Atomic updates. Threads run one at a time, so that a plain update is atomic; the check knows it as one.
#pragma once

#include "emulator/cuda/collectives.h"

#ifdef OPGOLD_CHECKED
#define OPGOLD_CHECK_ATOMIC(address, size) opgold::emulator::atomic_access(address, size)
#define OPGOLD_PUBLISH(address) opgold::emulator::publish(address)
#else
#define OPGOLD_CHECK_ATOMIC(address, size) opgold::emulator::polled(address)
#define OPGOLD_PUBLISH(address) ((void)0)
#endif

namespace opgold::emulator {

template <class T>
OPGOLD_UNCHECKED T exchange(T* address, T value) {
  const T old = *address;
  *address = value;
  return old;
}
template <class T>
OPGOLD_UNCHECKED T load(const T* address) {
  return *address;
}

// As the hardware does: wraps, and never overflows.
template <class T>
OPGOLD_INLINE T wrapped_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
  else return a + b;
}

}  // namespace opgold::emulator

#define OPGOLD_ATOMIC(T, name, result)                                       \
  OPGOLD_INLINE T name(T* address, T value) {                                \
    OPGOLD_CHECK_ATOMIC(address, sizeof(T));                                 \
    OPGOLD_PUBLISH(address);                                                 \
    const T old = opgold::emulator::load(address);                           \
    return opgold::emulator::exchange<T>(address, result);                   \
  }
#define OPGOLD_ATOMIC_INTEGER(T)                                             \
  OPGOLD_ATOMIC(T, atomicAdd, opgold::emulator::wrapped_sum(old, value))     \
  OPGOLD_ATOMIC(T, atomicMax, old > value ? old : value)                     \
  OPGOLD_ATOMIC(T, atomicMin, old < value ? old : value)                     \
  OPGOLD_ATOMIC(T, atomicAnd, static_cast<T>(old & value))                                \
  OPGOLD_ATOMIC(T, atomicOr, static_cast<T>(old | value))                                 \
  OPGOLD_ATOMIC(T, atomicXor, static_cast<T>(old ^ value))                                \
  OPGOLD_ATOMIC(T, atomicExch, ((void)old, value))                           \
  OPGOLD_INLINE T atomicCAS(T* address, T expected, T value) {               \
    OPGOLD_CHECK_ATOMIC(address, sizeof(T));                                 \
    const T old = opgold::emulator::load(address);                           \
    if (old != expected) return old;                                         \
    OPGOLD_PUBLISH(address);                                                 \
    opgold::emulator::exchange<T>(address, value);                           \
    return old;                                                              \
  }

OPGOLD_ATOMIC_INTEGER(int)
OPGOLD_ATOMIC_INTEGER(unsigned)
OPGOLD_ATOMIC_INTEGER(unsigned long long)
OPGOLD_ATOMIC(unsigned, atomicInc, old >= value ? 0u : old + 1)
OPGOLD_ATOMIC(unsigned, atomicDec, old == 0 || old > value ? value : old - 1)
OPGOLD_ATOMIC(long long, atomicMax, old > value ? old : value)
OPGOLD_ATOMIC(long long, atomicMin, old < value ? old : value)
OPGOLD_ATOMIC(float, atomicAdd, old + value)
OPGOLD_ATOMIC(double, atomicAdd, old + value)
OPGOLD_ATOMIC(float, atomicExch, ((void)old, value))
OPGOLD_INLINE int atomicSub(int* address, int value) { return atomicAdd(address, int(0u - unsigned(value))); }
OPGOLD_INLINE unsigned atomicSub(unsigned* address, unsigned value) { return atomicAdd(address, 0u - value); }

#undef OPGOLD_ATOMIC_INTEGER
#undef OPGOLD_ATOMIC
