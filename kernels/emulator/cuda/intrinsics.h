// Bit, cache, fence and arithmetic intrinsics, and the unqualified min and max.
#pragma once

#include "emulator/cuda/atomics.h"

template <class T>
OPGOLD_INLINE T __ldg(const T* address) { return *address; }
template <class T>
OPGOLD_INLINE T __ldcs(const T* address) { return *address; }
template <class T>
OPGOLD_INLINE T __ldcg(const T* address) { return *address; }
template <class T>
OPGOLD_INLINE void __stcs(T* address, T value) { *address = value; }
template <class T>
OPGOLD_INLINE void __stcg(T* address, T value) { *address = value; }

// One thread runs at a time: a fence has nothing to do but to tell the checks of what it orders.
#ifdef OPGOLD_CHECKED
OPGOLD_INLINE void __threadfence() { opgold::emulator::thread_fence(opgold::emulator::Scope::device); }
OPGOLD_INLINE void __threadfence_block() { opgold::emulator::thread_fence(opgold::emulator::Scope::block); }
#else
OPGOLD_INLINE void __threadfence() {}
OPGOLD_INLINE void __threadfence_block() {}
#endif
OPGOLD_INLINE void __threadfence_system() { __threadfence(); }
OPGOLD_INLINE void __nanosleep(unsigned) { opgold::emulator::yield(); }

OPGOLD_INLINE int __popc(unsigned value) { return __builtin_popcount(value); }
OPGOLD_INLINE int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
OPGOLD_INLINE int __ffs(int value) { return __builtin_ffs(value); }
OPGOLD_INLINE int __ffsll(long long value) { return __builtin_ffsll(value); }
OPGOLD_INLINE int __clz(int value) { return value ? __builtin_clz(unsigned(value)) : 32; }
OPGOLD_INLINE int __clzll(long long value) { return value ? __builtin_clzll((unsigned long long)value) : 64; }
OPGOLD_INLINE unsigned __brev(unsigned value) {
  unsigned turned = 0;
  for (int bit = 0; bit < 32; ++bit) turned |= (value >> bit & 1u) << (31 - bit);
  return turned;
}
OPGOLD_INLINE unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)(a) * b >> 32); }
OPGOLD_INLINE int __mul24(int a, int b) { return int(unsigned(a) * unsigned(b)); }

OPGOLD_INLINE int __float_as_int(float value) {
  return opgold::emulator::from_bits<int>(opgold::emulator::bits_of(value));
}
OPGOLD_INLINE unsigned __float_as_uint(float value) { return unsigned(opgold::emulator::bits_of(value)); }
OPGOLD_INLINE float __int_as_float(int value) {
  return opgold::emulator::from_bits<float>(opgold::emulator::bits_of(value));
}
OPGOLD_INLINE float __uint_as_float(unsigned value) { return opgold::emulator::from_bits<float>(value); }
OPGOLD_INLINE float __fdividef(float a, float b) { return a / b; }
OPGOLD_INLINE float __expf(float value) { return expf(value); }
OPGOLD_INLINE float __logf(float value) { return logf(value); }
OPGOLD_INLINE float rsqrtf(float value) { return 1.0f / sqrtf(value); }
OPGOLD_INLINE float __fadd_rn(float a, float b) { return a + b; }
OPGOLD_INLINE float __fsub_rn(float a, float b) { return a - b; }
OPGOLD_INLINE float __fmul_rn(float a, float b) { return a * b; }
OPGOLD_INLINE float __fdiv_rn(float a, float b) { return a / b; }
OPGOLD_INLINE float __frcp_rn(float value) { return 1.0f / value; }
OPGOLD_INLINE float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }

// The vendor declares these for every mixture of widths and signs.
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
OPGOLD_INLINE std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return T(b) < T(a) ? T(b) : T(a);
}
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
OPGOLD_INLINE std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return T(a) < T(b) ? T(b) : T(a);
}
