// Code that relies on lanes in lockstep, and threads that read what others wrote before they left: nothing orders either.
#include "planted.h"

namespace {

// The reduction of old: volatile makes the compiler load and store each time, not the lanes wait for each other.
__global__ void lockstep_volatile(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ volatile int32_t tile[64];
  const int lane = threadIdx.x;
  tile[lane] = x[lane];
  tile[lane + 32] = x[lane + 32];
  __syncwarp();
  for (int half = 32; half > 0; half /= 2) {
    const int32_t sum = tile[lane] + tile[lane + half];  // planted lockstep_volatile
    if (!bug) __syncwarp();
    tile[lane] = sum;
    if (!bug) __syncwarp();
  }
  y[lane] = tile[0];
}

// The same, on memory that is not volatile.
__global__ void lockstep_plain(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t tile[32];
  const int lane = threadIdx.x;
  tile[lane] = x[lane];
  for (int half = 16; half > 0; half /= 2) {
    if (!bug) __syncwarp();
    const int32_t sum = tile[lane] + tile[(lane + half) % 32];  // planted lockstep_plain
    if (!bug) __syncwarp();
    tile[lane] = sum;
  }
  y[lane] = tile[lane];
}

// A shuffle brings the lanes together, and orders no memory.
__global__ void lockstep_shuffle(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t tile[32];
  const int lane = threadIdx.x;
  tile[lane] = x[lane];
  const int32_t turned = __shfl_xor_sync(0xffffffffu, x[lane], 1);
  if (!bug) __syncwarp();
  y[lane] = tile[31 - lane] + turned;  // planted lockstep_shuffle
}

// One lane writes for all.
__global__ void lockstep_leader(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t first;
  if (threadIdx.x == 0) first = x[3];
  if (!bug) __syncwarp();
  y[threadIdx.x] = first;  // planted lockstep_leader
}

__global__ void lockstep_global(const int32_t* x, int32_t* y, int n, int bug) {
  const int lane = threadIdx.x;
  y[lane] = x[lane];
  if (!bug) __syncwarp();
  const int32_t next = y[(lane + 1) % 32];  // planted lockstep_global
  if (!bug) __syncwarp();
  y[lane] = next;
}

__global__ void lockstep_atomic(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t total;
  if (threadIdx.x == 0) total = 0;
  __syncwarp();
  atomicAdd(&total, x[threadIdx.x]);
  if (!bug) __syncwarp();
  y[threadIdx.x] = total;  // planted lockstep_atomic
}

// Volatile does not make an atomic's result wait either.
__global__ void lockstep_volatile_total(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t total;
  if (threadIdx.x == 0) total = 0;
  __syncwarp();
  atomicAdd(&total, x[threadIdx.x]);
  if (!bug) __syncwarp();
  y[threadIdx.x] = *const_cast<volatile int32_t*>(&total);  // planted lockstep_volatile_total
}

// Half of the block writes and leaves: that nobody can write any more does not mean that it is seen.
__global__ void left_writers(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t tile[32];
  const int i = threadIdx.x;
  if (i < 32) {
    tile[i] = x[i];
    if (bug) return;
  }
  if (!bug) __syncthreads();
  if (i >= 32) y[i] = tile[63 - i];  // planted left_writers
}

// The lanes that stay wait for each other, not for those that left.
__global__ void left_lanes(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t tile[16];
  const int lane = threadIdx.x;
  if (lane >= 16) tile[lane - 16] = x[lane];
  if (!bug) __syncwarp();
  if (lane >= 16) return;
  __syncwarp(0xffffu);
  y[lane] = tile[15 - lane];  // planted left_lanes
}

}  // namespace

PLANTED(lockstep_volatile, 1, 32, 0)
PLANTED(lockstep_plain, 1, 32, 0)
PLANTED(lockstep_shuffle, 1, 32, 0)
PLANTED(lockstep_leader, 1, 32, 0)
PLANTED(lockstep_global, 1, 32, 0)
PLANTED(lockstep_atomic, 1, 32, 0)
PLANTED(lockstep_volatile_total, 1, 32, 0)
PLANTED(left_writers, 1, 64, 0)
PLANTED(left_lanes, 1, 32, 0)
