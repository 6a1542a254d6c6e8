// Hand-shakes: data, a fence, an atomic; an atomic of the same place, a fence, the data.
#include "planted.h"

namespace {

constexpr int kBlocks = 4, kThreads = 8, kCounter = 48;

struct Partials {
  int32_t* y;

  __device__ int32_t* mine() const { return y + blockIdx.x * kThreads + threadIdx.x; }
  // Whether this block is the last one to come here.
  __device__ bool last() const {
    __shared__ bool is_last;
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(y + kCounter, 1) == kBlocks - 1;
    __syncthreads();
    return is_last;
  }
  __device__ __noinline__ void sum() const {
    int32_t total = 0;
    for (int b = 0; b < kBlocks; ++b) total += y[b * kThreads + threadIdx.x];
    y[kBlocks * kThreads + threadIdx.x] = total;
  }
};

#define LAST_BLOCK(op)                                                        \
  void launch_##op(opgold::Stream stream, Input x, Output y, int32_t bug) {   \
    cudaMemsetAsync(y.data, 0, y.size() * sizeof(int32_t), stream);           \
    op<<<kBlocks, kThreads, 0, stream>>>(x.data, y.data, int(x.size()), bug); \
  }                                                                           \
  OPGOLD_EXPORT(op, launch_##op)

__global__ void last_no_release(const int32_t* x, int32_t* y, int n, int bug) {
  const Partials partials{y};
  *partials.mine() = x[threadIdx.x];  // planted last_no_release
  if (!bug) __threadfence();
  if (!partials.last()) return;
  __threadfence();
  partials.sum();
}

__global__ void last_no_acquire(const int32_t* x, int32_t* y, int n, int bug) {
  const Partials partials{y};
  *partials.mine() = x[threadIdx.x];  // planted last_no_acquire
  __threadfence();
  if (!partials.last()) return;
  if (!bug) __threadfence();
  partials.sum();
}

// A fence of the block does not reach the other blocks.
__global__ void last_narrow_fence(const int32_t* x, int32_t* y, int n, int bug) {
  const Partials partials{y};
  *partials.mine() = x[threadIdx.x];  // planted last_narrow_fence
  if (bug) __threadfence_block();
  else __threadfence_system();
  if (!partials.last()) return;
  __threadfence();
  partials.sum();
}

__global__ void last_fence_too_early(const int32_t* x, int32_t* y, int n, int bug) {
  const Partials partials{y};
  if (bug) __threadfence();
  *partials.mine() = x[threadIdx.x];  // planted last_fence_too_early
  if (!bug) __threadfence();
  if (!partials.last()) return;
  __threadfence();
  partials.sum();
}

// One thread's fence speaks for all whom a barrier has brought before it.
__global__ void last_no_barrier(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ bool last;
  const Partials partials{y};
  *partials.mine() = x[threadIdx.x];  // planted last_no_barrier
  if (!bug) __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(y + kCounter, 1) == kBlocks - 1;
    __threadfence();
  }
  __syncthreads();
  if (last) partials.sum();
}

// What a third block knows of the first it knows through the second.
__global__ void last_chain(const int32_t* x, int32_t* y, int n, int bug) {
  if (threadIdx.x != 0) return;
  const int block = atomicAdd(y + 3, 1);  // in the order in which they come, whatever that is
  if (block == 0) {
    y[0] = x[5];  // planted last_chain
    __threadfence();
    atomicExch(y + 1, 1);
  } else if (block == 1) {
    if (atomicAdd(y + 1, 0) == 0) return;
    if (!bug) __threadfence();
    else __threadfence_block();
    atomicExch(y + 2, 1);
  } else {
    if (atomicCAS(y + 2, 1, 1) == 0) return;
    __threadfence();
    y[8 + block] = y[0];
  }
}

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

__device__ unsigned counter;

// The counter of most kernels: a device variable, which the last block puts back to 0.
__global__ void last_by_a_variable(const int32_t* x, int32_t* y, int n, int bug) {
  y[blockIdx.x] = x[blockIdx.x];  // planted last_by_a_variable
  if (!bug) __threadfence();
  if (atomicInc(&counter, gridDim.x - 1) != gridDim.x - 1) return;
  __threadfence();
  int32_t total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += y[b];
  y[gridDim.x] = total;
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

LAST_BLOCK(last_no_release)
LAST_BLOCK(last_no_acquire)
LAST_BLOCK(last_narrow_fence)
LAST_BLOCK(last_fence_too_early)
LAST_BLOCK(last_no_barrier)
LAST_BLOCK(last_chain)
PLANTED(last_by_a_variable, 4, 1, 0)
PLANTED(flag_no_release, 1, 64, 0)
PLANTED(flag_no_acquire, 1, 64, 0)
PLANTED(flag_volatile, 1, 64, 0)
PLANTED(flag_mixed, 1, 64, 0)
PLANTED(flag_plain, 1, 64, 0)
PLANTED(lock_no_fence, 1, 64, 0)
PLANTED(flag_for_a_warp, 1, 64, 0)
PLANTED(spins, 1, 64, 0)
