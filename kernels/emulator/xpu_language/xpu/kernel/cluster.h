// What device code may name, as declarations with their memories, for a compiler that checks types and makes no code
// (language.py). A pointer without a mark points to local memory.
#pragma once

#define OPGOLD_MEMORY(n) __attribute__((address_space(n)))
#define __global_ptr__ OPGOLD_MEMORY(1)
#define _global_ptr_ OPGOLD_MEMORY(1)
#define __shared_ptr__ OPGOLD_MEMORY(3)
#define _shared_ptr_ OPGOLD_MEMORY(3)
#define _group_shared_ptr_ OPGOLD_MEMORY(5)
#define __shared__ static OPGOLD_MEMORY(3)
#define __group_shared__ static OPGOLD_MEMORY(5)
#define __local__
#define __global__
#define __device__
#define __simd__ __attribute__((aligned(64)))

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned int size_t;

struct float16 {
  float16() = default;
  float16(int) = delete;
  explicit float16(float);
  operator float() const;
  uint16_t bits;
};
struct bfloat16 {
  bfloat16() = default;
  bfloat16(int) = delete;
  explicit bfloat16(float);
  operator float() const;
  uint16_t bits;
};

int core_id();
int core_num();
int cluster_id();
int cluster_num();
void mfence();
void mfence_lm();
void mfence_sm();
void sync_cluster();
void sync_all();

#define OPGOLD_TRANSFER(name, from, to)                       \
  int name(from const void* source, to void* target, unsigned bytes); \
  int name##_ASYNC(from const void* source, to void* target, unsigned bytes);
OPGOLD_TRANSFER(GM2LM, __global_ptr__, )
OPGOLD_TRANSFER(LM2GM, , __global_ptr__)
OPGOLD_TRANSFER(GM2SM, __global_ptr__, __shared_ptr__)
OPGOLD_TRANSFER(SM2GM, __shared_ptr__, __global_ptr__)
OPGOLD_TRANSFER(GM2GSM, __global_ptr__, _group_shared_ptr_)
OPGOLD_TRANSFER(GSM2GM, _group_shared_ptr_, __global_ptr__)
OPGOLD_TRANSFER(LM2SM, , __shared_ptr__)
OPGOLD_TRANSFER(SM2LM, __shared_ptr__, )

template <class T>
T min(T a, T b);
template <class T>
T max(T a, T b);
int min(int a, int b);
int max(int a, int b);
template <class T>
T roundup_div(T a, T b);
template <class T>
T roundup(T a, T b);
template <class T>
T rounddown(T a, T b);
float fmin(float, float);
float fmax(float, float);
float exp(float);
float log(float);
float sqrt(float);
float fabs(float);
float rint(float);

template <class T>
void partition(int tid, int nthreads, T len, int align, T* start, T* end);

typedef float float32x16_t __attribute__((vector_size(64)));
typedef int32_t int32x16_t __attribute__((vector_size(64)));
typedef uint32_t uint32x16_t __attribute__((vector_size(64)));
#define OPGOLD_VECTOR(T, type)                         \
  type##_t vload_lm_##type(const T*);                  \
  type##_t vload_sm_##type(_shared_ptr_ const T*);     \
  void vstore_lm_##type(T*, type##_t);                 \
  void vstore_sm_##type(_shared_ptr_ T*, type##_t);    \
  type##_t vvadd_##type(type##_t, type##_t);           \
  type##_t vvsub_##type(type##_t, type##_t);           \
  type##_t vvmul_##type(type##_t, type##_t);           \
  type##_t vvmax_##type(type##_t, type##_t);           \
  type##_t vvmin_##type(type##_t, type##_t);
OPGOLD_VECTOR(float, float32x16)
OPGOLD_VECTOR(int32_t, int32x16)
OPGOLD_VECTOR(uint32_t, uint32x16)

namespace xpu_std {
template <class A, class B>
struct is_same {
  static constexpr bool value = false;
};
template <class A>
struct is_same<A, A> {
  static constexpr bool value = true;
};
template <bool, class A, class B>
struct conditional {
  typedef A type;
};
template <class A, class B>
struct conditional<false, A, B> {
  typedef B type;
};
}  // namespace xpu_std
