// A 16-bit floating-point type, computed in float and rounded to nearest even; and pairs of it.
#pragma once

#include "emulator/common/half_conversion.h"
#include "emulator/cuda/intrinsics.h"

namespace opgold::emulator {

struct alignas(2) RawBits {
  unsigned short x;
};

// `Format` converts: from_float(float), to_float(uint16_t).
template <class Format>
struct alignas(2) NarrowFloat {
  unsigned short bits;

  NarrowFloat() = default;
  NarrowFloat(float value) : bits(Format::from_float(value)) {}
  NarrowFloat(double value) : NarrowFloat(float(value)) {}
  NarrowFloat(int value) : NarrowFloat(float(value)) {}
  NarrowFloat(unsigned value) : NarrowFloat(float(value)) {}
  NarrowFloat(long long value) : NarrowFloat(float(value)) {}
  NarrowFloat(const RawBits& raw) : bits(raw.x) {}
  operator float() const { return Format::to_float(bits); }
  operator RawBits() const { return {bits}; }

#define OPGOLD_OPERATOR(op)                                                                                     \
  friend NarrowFloat operator op(NarrowFloat a, NarrowFloat b) { return NarrowFloat(float(a) op float(b)); } \
  friend NarrowFloat& operator op##=(NarrowFloat& a, NarrowFloat b) { return a = a op b; }
  OPGOLD_OPERATOR(+)
  OPGOLD_OPERATOR(-)
  OPGOLD_OPERATOR(*)
  OPGOLD_OPERATOR(/)
#undef OPGOLD_OPERATOR
#define OPGOLD_COMPARISON(op, name)                                                                  \
  friend bool operator op(NarrowFloat a, NarrowFloat b) { return float(a) op float(b); }             \
  friend bool name(NarrowFloat a, NarrowFloat b) { return a op b; }
  OPGOLD_COMPARISON(==, __heq)
  OPGOLD_COMPARISON(!=, __hne)
  OPGOLD_COMPARISON(<, __hlt)
  OPGOLD_COMPARISON(<=, __hle)
  OPGOLD_COMPARISON(>, __hgt)
  OPGOLD_COMPARISON(>=, __hge)
#undef OPGOLD_COMPARISON
  friend NarrowFloat operator-(NarrowFloat a) {
    a.bits ^= 0x8000u;
    return a;
  }

  friend NarrowFloat __hadd(NarrowFloat a, NarrowFloat b) { return a + b; }
  friend NarrowFloat __hsub(NarrowFloat a, NarrowFloat b) { return a - b; }
  friend NarrowFloat __hmul(NarrowFloat a, NarrowFloat b) { return a * b; }
  friend NarrowFloat __hdiv(NarrowFloat a, NarrowFloat b) { return a / b; }
  friend NarrowFloat __hfma(NarrowFloat a, NarrowFloat b, NarrowFloat c) { return fmaf(a, b, c); }
  friend NarrowFloat __hneg(NarrowFloat a) { return -a; }
  friend NarrowFloat __habs(NarrowFloat a) {
    a.bits &= 0x7fffu;
    return a;
  }
  friend NarrowFloat __hmax(NarrowFloat a, NarrowFloat b) { return fmaxf(a, b); }
  friend NarrowFloat __hmin(NarrowFloat a, NarrowFloat b) { return fminf(a, b); }
  friend bool __hisnan(NarrowFloat a) { return std::isnan(float(a)); }
};

template <class Format>
struct alignas(4) NarrowPair {
  NarrowFloat<Format> x, y;

  friend NarrowPair operator+(NarrowPair a, NarrowPair b) { return {a.x + b.x, a.y + b.y}; }
  friend NarrowPair operator*(NarrowPair a, NarrowPair b) { return {a.x * b.x, a.y * b.y}; }
  friend NarrowPair __hadd2(NarrowPair a, NarrowPair b) { return a + b; }
  friend NarrowPair __hmul2(NarrowPair a, NarrowPair b) { return a * b; }
};

}  // namespace opgold::emulator
