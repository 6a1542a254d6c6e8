// Conversions between float and the two 16-bit formats, rounding to nearest even.
#pragma once

#include <cstdint>
#include <cstring>

namespace opgold::emulator {

inline uint32_t float_bits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}
inline float bits_float(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}

inline uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = float_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return uint16_t((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
inline float bfloat16_to_float(uint16_t bits) { return bits_float(uint32_t(bits) << 16); }

inline uint16_t float_to_float16(float value) {
  const uint32_t bits = float_bits(value);
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return uint16_t(sign | 0x7c00u);  // rounds to 65536 or more
  if (magnitude < 0x38800000u) {                                  // below 2^-14: a multiple of 2^-24
    // Adding 0.5 puts one unit of 2^-24 in the last place, so that the adder rounds.
    const float shifted = bits_float(magnitude) + 0.5f;
    return uint16_t(sign | (float_bits(shifted) - float_bits(0.5f)));
  }
  return uint16_t(sign | ((magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13));
}
inline float float16_to_float(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return bits_float(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x400u) return bits_float(sign | ((magnitude << 13) + 0x38000000u));
  return bits_float(sign | float_bits(float(magnitude) * 5.9604644775390625e-8f));
}

}  // namespace opgold::emulator
