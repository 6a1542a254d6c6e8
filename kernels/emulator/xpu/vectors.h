// 512-bit vectors of local and cluster-shared memory. A pointer must be aligned to 64 bytes.
#pragma once

#include "emulator/xpu/transfer.h"

typedef float float32x16_t __attribute__((vector_size(64)));
typedef int32_t int32x16_t __attribute__((vector_size(64)));
typedef uint32_t uint32x16_t __attribute__((vector_size(64)));

namespace opgold::emulator {

template <class Vector, class T>
inline __attribute__((always_inline)) Vector load_vector(const T* pointer, uint64_t room) {
  vector_access(pointer, sizeof(Vector), room, false);
  Vector vector;
  std::memcpy(&vector, pointer, sizeof vector);
  return vector;
}
template <class Vector, class T>
inline __attribute__((always_inline)) void store_vector(T* pointer, const Vector& vector, uint64_t room) {
  vector_access(pointer, sizeof(Vector), room, true);
  std::memcpy(pointer, &vector, sizeof vector);
}

}  // namespace opgold::emulator

#define OPGOLD_VECTOR(T, type)                                                                                  \
  inline __attribute__((always_inline)) type##_t vload_lm_##type(const T* pointer) {                            \
    return ::opgold::emulator::load_vector<type##_t>(pointer, OPGOLD_ROOM(pointer));                             \
  }                                                                                                             \
  inline __attribute__((always_inline)) type##_t vload_sm_##type(const T* pointer) {                            \
    return ::opgold::emulator::load_vector<type##_t>(pointer, OPGOLD_ROOM(pointer));                             \
  }                                                                                                             \
  inline __attribute__((always_inline)) void vstore_lm_##type(T* pointer, type##_t vector) {                    \
    ::opgold::emulator::store_vector(pointer, vector, OPGOLD_ROOM(pointer));                                     \
  }                                                                                                             \
  inline __attribute__((always_inline)) void vstore_sm_##type(T* pointer, type##_t vector) {                    \
    ::opgold::emulator::store_vector(pointer, vector, OPGOLD_ROOM(pointer));                                     \
  }                                                                                                             \
  inline type##_t vvadd_##type(type##_t a, type##_t b) { return a + b; }                                        \
  inline type##_t vvsub_##type(type##_t a, type##_t b) { return a - b; }                                        \
  inline type##_t vvmul_##type(type##_t a, type##_t b) { return a * b; }                                        \
  inline type##_t vvmax_##type(type##_t a, type##_t b) { return a > b ? a : b; }                                \
  inline type##_t vvmin_##type(type##_t a, type##_t b) { return a < b ? a : b; }

OPGOLD_VECTOR(float, float32x16)
OPGOLD_VECTOR(int32_t, int32x16)
OPGOLD_VECTOR(uint32_t, uint32x16)

#undef OPGOLD_VECTOR
