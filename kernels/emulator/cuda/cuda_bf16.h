// Stands in for the vendor's header of this name: bfloat16.
#pragma once

#include "emulator/cuda/narrow_float.h"

namespace opgold::emulator {

struct BFloat16Format {
  static uint16_t from_float(float value) { return float_to_bfloat16(value); }
  static float to_float(uint16_t bits) { return bfloat16_to_float(bits); }
};

}  // namespace opgold::emulator

using __nv_bfloat16 = opgold::emulator::NarrowFloat<opgold::emulator::BFloat16Format>;
using __nv_bfloat16_raw = opgold::emulator::RawBits;
using nv_bfloat16 = __nv_bfloat16;
using __nv_bfloat162 = opgold::emulator::NarrowPair<opgold::emulator::BFloat16Format>;
using nv_bfloat162 = __nv_bfloat162;

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
