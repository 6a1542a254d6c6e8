// Stands in for the vendor's header of this name: half precision, computed in float and rounded to nearest even.
#pragma once

#include "emulator/cuda/half_conversion.h"
#include "emulator/cuda/intrinsics.h"

struct alignas(2) __half_raw {
  unsigned short x;
};

struct alignas(2) __half {
  unsigned short bits;

  __half() = default;
  __half(float value) : bits(opgold::emulator::float_to_float16(value)) {}
  __half(double value) : __half(float(value)) {}
  __half(int value) : __half(float(value)) {}
  __half(unsigned value) : __half(float(value)) {}
  __half(long long value) : __half(float(value)) {}
  __half(const __half_raw& raw) : bits(raw.x) {}
  operator float() const { return opgold::emulator::float16_to_float(bits); }
  operator __half_raw() const { return {bits}; }
};
using half = __half;

struct alignas(4) __half2 {
  __half x, y;
};
using half2 = __half2;

#define OPGOLD_OPERATOR(op)                                                                            \
  inline __half operator op(__half a, __half b) { return __half(float(a) op float(b)); } \
  inline __half& operator op##=(__half& a, __half b) { return a = a op b; }
OPGOLD_OPERATOR(+)
OPGOLD_OPERATOR(-)
OPGOLD_OPERATOR(*)
OPGOLD_OPERATOR(/)
#undef OPGOLD_OPERATOR
#define OPGOLD_COMPARISON(op) \
  inline bool operator op(__half a, __half b) { return float(a) op float(b); }
OPGOLD_COMPARISON(==)
OPGOLD_COMPARISON(!=)
OPGOLD_COMPARISON(<)
OPGOLD_COMPARISON(<=)
OPGOLD_COMPARISON(>)
OPGOLD_COMPARISON(>=)
#undef OPGOLD_COMPARISON
inline __half operator-(__half a) {
  a.bits ^= 0x8000u;
  return a;
}

inline __half __float2half(float value) { return value; }
inline __half __float2half_rn(float value) { return value; }
inline __half __double2half(double value) { return float(value); }
inline __half __int2half_rn(int value) { return value; }
inline float __half2float(__half value) { return value; }
inline __half __ushort_as_half(unsigned short bits) { return __half_raw{bits}; }
inline unsigned short __half_as_ushort(__half value) { return value.bits; }
inline short __half_as_short(__half value) { return short(value.bits); }
inline __half2 __halfs2half2(__half x, __half y) { return {x, y}; }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __half2 __float2half2_rn(float x) { return {x, x}; }
inline float2 __half22float2(__half2 v) { return {v.x, v.y}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }

inline __half __hadd(__half a, __half b) { return a + b; }
inline __half __hsub(__half a, __half b) { return a - b; }
inline __half __hmul(__half a, __half b) { return a * b; }
inline __half __hdiv(__half a, __half b) { return a / b; }
inline __half __hfma(__half a, __half b, __half c) { return fmaf(a, b, c); }
inline __half __hneg(__half a) { return -a; }
inline __half __habs(__half a) {
  a.bits &= 0x7fffu;
  return a;
}
inline __half __hmax(__half a, __half b) { return fmaxf(a, b); }
inline __half __hmin(__half a, __half b) { return fminf(a, b); }
inline bool __heq(__half a, __half b) { return a == b; }
inline bool __hne(__half a, __half b) { return a != b; }
inline bool __hlt(__half a, __half b) { return a < b; }
inline bool __hle(__half a, __half b) { return a <= b; }
inline bool __hgt(__half a, __half b) { return a > b; }
inline bool __hge(__half a, __half b) { return a >= b; }
inline bool __hisnan(__half a) { return std::isnan(float(a)); }
inline __half2 __hadd2(__half2 a, __half2 b) { return {a.x + b.x, a.y + b.y}; }
inline __half2 __hmul2(__half2 a, __half2 b) { return {a.x * b.x, a.y * b.y}; }
inline __half2 operator+(__half2 a, __half2 b) { return __hadd2(a, b); }
inline __half2 operator*(__half2 a, __half2 b) { return __hmul2(a, b); }
