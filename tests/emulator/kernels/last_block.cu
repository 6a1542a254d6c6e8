// Hand-shakes of blocks: the last one to come to a counter reads what all have written.
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

}  // namespace

LAST_BLOCK(last_no_release)
LAST_BLOCK(last_no_acquire)
LAST_BLOCK(last_narrow_fence)
LAST_BLOCK(last_fence_too_early)
LAST_BLOCK(last_no_barrier)
LAST_BLOCK(last_chain)
PLANTED(last_by_a_variable, 4, 1, 0)
