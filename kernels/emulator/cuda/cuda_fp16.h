// Stands in for the vendor's header of this name: half precision.
#pragma once

#include "emulator/cuda/narrow_float.h"

namespace opgold::emulator {

struct HalfFormat {
  static uint16_t from_float(float value) { return float_to_float16(value); }
  static float to_float(uint16_t bits) { return float16_to_float(bits); }
};

}  // namespace opgold::emulator

using __half = opgold::emulator::NarrowFloat<opgold::emulator::HalfFormat>;
using __half_raw = opgold::emulator::RawBits;
using half = __half;
using __half2 = opgold::emulator::NarrowPair<opgold::emulator::HalfFormat>;
using half2 = __half2;

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
