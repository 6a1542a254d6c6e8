// Hand-shakes of a block's threads: data, a fence, an atomic; an atomic of the same place, a fence, the data.
#include "planted.h"

namespace {

__global__ void flag_no_release(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t value, flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 1) {
    value = x[7];  // planted flag_no_release
    if (!bug) __threadfence_block();
    atomicExch(&flag, 1);
  } else if (threadIdx.x == 0) {
    while (atomicAdd(&flag, 0) == 0) __nanosleep(20);
    __threadfence_block();
    y[0] = value;
  }
}

__global__ void flag_no_acquire(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t value, flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 40) {
    value = x[7];
    __threadfence_block();
    atomicExch(&flag, 1);
  } else if (threadIdx.x == 0) {
    while (atomicAdd(&flag, 0) == 0) __nanosleep(20);
    if (!bug) __threadfence_block();
    y[0] = value;  // planted flag_no_acquire
  }
}

__global__ void flag_volatile(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t value;
  __shared__ volatile int32_t flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 40) {
    value = x[7];
    if (!bug) __threadfence_block();
    flag = 1;  // planted flag_volatile
  } else if (threadIdx.x == 0) {
    while (flag == 0) __nanosleep(20);
    __threadfence_block();
    y[0] = value;
  }
}

// Set by an atomic, polled as volatile.
__global__ void flag_mixed(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t value, flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 40) {
    value = x[7];
    if (!bug) __threadfence_block();
    atomicExch(&flag, 1);  // planted flag_mixed
    if (bug) __threadfence_block();
  } else if (threadIdx.x == 0) {
    while (*const_cast<volatile int32_t*>(&flag) == 0) __nanosleep(20);
    __threadfence_block();
    y[0] = value;
  }
}

// A flag that is neither atomic nor volatile, though it is fenced.
__global__ void flag_plain(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t value, flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 40) {
    value = x[7];
    __threadfence_block();
    if (bug) flag = 1;  // planted flag_plain
    else atomicExch(&flag, 1);
  } else if (threadIdx.x == 0) {
    while (atomicAdd(&flag, 0) == 0) __nanosleep(20);
    __threadfence_block();
    y[0] = value;
  }
}

// A lock: what one holder wrote the next one reads.
__global__ void lock_no_fence(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t total, lock;
  if (threadIdx.x == 0) total = lock = 0;
  __syncthreads();
  if (threadIdx.x % 16 == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) __nanosleep(20);
    __threadfence_block();
    total += x[threadIdx.x];  // planted lock_no_fence
    if (!bug) __threadfence_block();
    atomicExch(&lock, 0);
  }
  __syncthreads();
  y[threadIdx.x] = total;
}

// Lanes of a warp learn by __syncwarp what one of them has learnt.
__global__ void flag_for_a_warp(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t value, flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x >= 32) {
    if (threadIdx.x > 32) return;
    value = x[7];  // planted flag_for_a_warp
    __threadfence_block();
    atomicExch(&flag, 1);
    return;
  }
  if (threadIdx.x == 0) {
    while (atomicAdd(&flag, 0) == 0) __nanosleep(20);
    __threadfence_block();
  }
  if (bug) __any_sync(0xffffffffu, 1);
  else __syncwarp();
  y[threadIdx.x] = value;
}

// Nobody sleeps: the fibres must take turns all the same.
__global__ void spins(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ volatile int32_t turn;
  if (threadIdx.x == 0) turn = bug;
  __syncthreads();
  while (turn != int(threadIdx.x)) {}  // planted spins
  y[threadIdx.x] = x[threadIdx.x];
  __threadfence_block();
  turn = int(threadIdx.x) + 1;
}

}  // namespace

PLANTED(flag_no_release, 1, 64, 0)
PLANTED(flag_no_acquire, 1, 64, 0)
PLANTED(flag_volatile, 1, 64, 0)
PLANTED(flag_mixed, 1, 64, 0)
PLANTED(flag_plain, 1, 64, 0)
PLANTED(lock_no_fence, 1, 64, 0)
PLANTED(flag_for_a_warp, 1, 64, 0)
PLANTED(spins, 1, 64, 0)
