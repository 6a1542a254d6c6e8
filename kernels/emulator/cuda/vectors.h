// Vector types with the vendor's sizes and alignments, dim3, and the built-in index variables.
#pragma once

#include "emulator/cuda/language.h"

#define OPGOLD_VECTOR(T, name, a2, a4)                                                                      \
  struct name##1 { T x; };                                                                                         \
  struct alignas(a2) name##2 { T x, y; };                                                                          \
  struct name##3 { T x, y, z; };                                                                                   \
  struct alignas(a4) name##4 { T x, y, z, w; };                                                                    \
  inline name##1 make_##name##1(T x) { return {x}; }                                                               \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                                       \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                                               \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

OPGOLD_VECTOR(signed char, char, 2, 4)
OPGOLD_VECTOR(unsigned char, uchar, 2, 4)
OPGOLD_VECTOR(short, short, 4, 8)
OPGOLD_VECTOR(unsigned short, ushort, 4, 8)
OPGOLD_VECTOR(int, int, 8, 16)
OPGOLD_VECTOR(unsigned int, uint, 8, 16)
OPGOLD_VECTOR(long, long, 16, 16)
OPGOLD_VECTOR(unsigned long, ulong, 16, 16)
OPGOLD_VECTOR(long long, longlong, 16, 16)
OPGOLD_VECTOR(unsigned long long, ulonglong, 16, 16)
OPGOLD_VECTOR(float, float, 8, 16)
OPGOLD_VECTOR(double, double, 16, 16)

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  operator uint3() const { return {x, y, z}; }
};

namespace opgold::emulator {

inline __attribute__((always_inline)) uint3 as_uint3(Index index) { return {index.x, index.y, index.z}; }
inline __attribute__((always_inline)) dim3 as_dim3(Index index) { return {index.x, index.y, index.z}; }

}  // namespace opgold::emulator

#define threadIdx (::opgold::emulator::as_uint3(::opgold::emulator::thread_index()))
#define blockIdx (::opgold::emulator::as_uint3(::opgold::emulator::block_index()))
#define blockDim (::opgold::emulator::as_dim3(::opgold::emulator::block_extent()))
#define gridDim (::opgold::emulator::as_dim3(::opgold::emulator::grid_extent()))
#define warpSize 32
