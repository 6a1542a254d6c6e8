// The 16-bit floating-point types: storage, converted by casts.
#pragma once

#include "emulator/common/half_conversion.h"
#include "emulator/xpu/language.h"

struct alignas(2) float16 {
  uint16_t bits;

  float16() = default;
  float16(int) = delete;
  explicit float16(float value) : bits(::opgold::emulator::float_to_float16(value)) {}
  operator float() const { return ::opgold::emulator::float16_to_float(bits); }
};

struct alignas(2) bfloat16 {
  uint16_t bits;

  bfloat16() = default;
  bfloat16(int) = delete;
  explicit bfloat16(float value) : bits(::opgold::emulator::float_to_bfloat16(value)) {}
  operator float() const { return ::opgold::emulator::bfloat16_to_float(bits); }
};
