// Stands in for the vendor's header of this name: bfloat16, computed in float and rounded to nearest even.
#pragma once

#include "emulator/cuda/half_conversion.h"
#include "emulator/cuda/intrinsics.h"

struct alignas(2) __nv_bfloat16_raw {
  unsigned short x;
};

struct alignas(2) __nv_bfloat16 {
  unsigned short bits;

  __nv_bfloat16() = default;
  __nv_bfloat16(float value) : bits(opgold::emulator::float_to_bfloat16(value)) {}
  __nv_bfloat16(double value) : __nv_bfloat16(float(value)) {}
  __nv_bfloat16(int value) : __nv_bfloat16(float(value)) {}
  __nv_bfloat16(unsigned value) : __nv_bfloat16(float(value)) {}
  __nv_bfloat16(long long value) : __nv_bfloat16(float(value)) {}
  __nv_bfloat16(const __nv_bfloat16_raw& raw) : bits(raw.x) {}
  operator float() const { return opgold::emulator::bfloat16_to_float(bits); }
  operator __nv_bfloat16_raw() const { return {bits}; }
};
using nv_bfloat16 = __nv_bfloat16;

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
using nv_bfloat162 = __nv_bfloat162;

#define OPGOLD_OPERATOR(op)                                                                            \
  inline __nv_bfloat16 operator op(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat16(float(a) op float(b)); } \
  inline __nv_bfloat16& operator op##=(__nv_bfloat16& a, __nv_bfloat16 b) { return a = a op b; }
OPGOLD_OPERATOR(+)
OPGOLD_OPERATOR(-)
OPGOLD_OPERATOR(*)
OPGOLD_OPERATOR(/)
#undef OPGOLD_OPERATOR
#define OPGOLD_COMPARISON(op) \
  inline bool operator op(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) op float(b); }
OPGOLD_COMPARISON(==)
OPGOLD_COMPARISON(!=)
OPGOLD_COMPARISON(<)
OPGOLD_COMPARISON(<=)
OPGOLD_COMPARISON(>)
OPGOLD_COMPARISON(>=)
#undef OPGOLD_COMPARISON
inline __nv_bfloat16 operator-(__nv_bfloat16 a) {
  a.bits ^= 0x8000u;
  return a;
}

inline __nv_bfloat16 __float2bfloat16(float value) { return value; }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return value; }
inline __nv_bfloat16 __double2bfloat16(double value) { return float(value); }
inline __nv_bfloat16 __int2bfloat16_rn(int value) { return value; }
inline float __bfloat162float(__nv_bfloat16 value) { return value; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __nv_bfloat16_raw{bits}; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }
inline short __bfloat16_as_short(__nv_bfloat16 value) { return short(value.bits); }
inline __nv_bfloat162 __bfloat16s2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline __nv_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }

inline __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) { return a + b; }
inline __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) { return a - b; }
inline __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) { return a * b; }
inline __nv_bfloat16 __hdiv(__nv_bfloat16 a, __nv_bfloat16 b) { return a / b; }
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) { return fmaf(a, b, c); }
inline __nv_bfloat16 __hneg(__nv_bfloat16 a) { return -a; }
inline __nv_bfloat16 __habs(__nv_bfloat16 a) {
  a.bits &= 0x7fffu;
  return a;
}
inline __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) { return fmaxf(a, b); }
inline __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) { return fminf(a, b); }
inline bool __heq(__nv_bfloat16 a, __nv_bfloat16 b) { return a == b; }
inline bool __hne(__nv_bfloat16 a, __nv_bfloat16 b) { return a != b; }
inline bool __hlt(__nv_bfloat16 a, __nv_bfloat16 b) { return a < b; }
inline bool __hle(__nv_bfloat16 a, __nv_bfloat16 b) { return a <= b; }
inline bool __hgt(__nv_bfloat16 a, __nv_bfloat16 b) { return a > b; }
inline bool __hge(__nv_bfloat16 a, __nv_bfloat16 b) { return a >= b; }
inline bool __hisnan(__nv_bfloat16 a) { return std::isnan(float(a)); }
inline __nv_bfloat162 __hadd2(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x + b.x, a.y + b.y}; }
inline __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x * b.x, a.y * b.y}; }
inline __nv_bfloat162 operator+(__nv_bfloat162 a, __nv_bfloat162 b) { return __hadd2(a, b); }
inline __nv_bfloat162 operator*(__nv_bfloat162 a, __nv_bfloat162 b) { return __hmul2(a, b); }
