// Barriers and warp collectives that not everybody reaches, arithmetic, and launches that do not end.
#include "planted.h"

namespace {

__global__ void barrier_exited(const int32_t* x, int32_t* y, int n, int bug) {
  if (bug && threadIdx.x >= 40) return;
  __syncthreads();  // planted barrier_exited
  y[threadIdx.x] = x[threadIdx.x];
}

__global__ void barrier_places(const int32_t* x, int32_t* y, int n, int bug) {
  if (bug && threadIdx.x >= 32) {
    __syncthreads();
  } else {
    __syncthreads();  // planted barrier_places
  }
  y[threadIdx.x] = x[threadIdx.x];
}

__global__ void barrier_and_warp(const int32_t* x, int32_t* y, int n, int bug) {
  if (bug && threadIdx.x == 5) __syncwarp();
  __syncthreads();  // planted barrier_and_warp
  y[threadIdx.x] = x[threadIdx.x];
}

__global__ void warp_outside_mask(const int32_t* x, int32_t* y, int n, int bug) {
  if (threadIdx.x >= 32) return;
  const unsigned mask = bug ? 0xfffffffeu : 0xffffffffu;
  y[threadIdx.x] = __shfl_sync(mask, x[threadIdx.x], 1);  // planted warp_outside_mask
}

__global__ void warp_reads_outside(const int32_t* x, int32_t* y, int n, int bug) {
  if (threadIdx.x >= 16) return;
  y[threadIdx.x] = __shfl_sync(0xffffu, x[threadIdx.x], bug ? 20 : 3);  // planted warp_reads_outside
}

__global__ void warp_exited(const int32_t* x, int32_t* y, int n, int bug) {
  if (bug && threadIdx.x % 32 == 31) return;
  y[threadIdx.x] = __ballot_sync(0xffffffffu, x[threadIdx.x] & 1);  // planted warp_exited
}

__global__ void warp_places(const int32_t* x, int32_t* y, int n, int bug) {
  int v = x[threadIdx.x];
  if (bug && threadIdx.x % 2) {
    v += __shfl_xor_sync(0xffffffffu, v, 1);
  } else {
    v += __shfl_xor_sync(0xffffffffu, v, 1);  // planted warp_places
  }
  y[threadIdx.x] = v;
}

__global__ void warp_other_call(const int32_t* x, int32_t* y, int n, int bug) {
  if (bug && threadIdx.x % 2) __syncwarp();  // planted warp_other_call
  else y[threadIdx.x] = __any_sync(0xffffffffu, x[threadIdx.x]);
}

__global__ void overflow(const int32_t* x, int32_t* y, int n, int bug) {
  const int32_t big = bug ? 0x7fffffff : 1;
  y[threadIdx.x] = x[threadIdx.x] + big;  // planted overflow
}

__global__ void shift(const int32_t* x, int32_t* y, int n, int bug) {
  y[threadIdx.x] = 1 << (x[threadIdx.x] % 8 + 32 * bug);  // planted shift
}

__global__ void divide(const int32_t* x, int32_t* y, int n, int bug) {
  y[threadIdx.x] = 100 / (x[threadIdx.x] + 1 - bug);  // planted divide
}

__global__ void hang_accesses(const int32_t* x, int32_t* y, int n, int bug) {
  volatile int32_t* out = y;
  out[threadIdx.x] = bug;
  while (out[threadIdx.x] == 1) {}  // planted hang_accesses
}

__global__ void hang_silent(const int32_t* x, int32_t* y, int n, int bug) {
  unsigned state = 1;
  while (bug || state < 100) { state = state * 3 + 1; asm volatile("" : "+r"(state)); }  // planted hang_silent
  y[threadIdx.x] = int(state);
}

__device__ __noinline__ int dive(int depth, int bug) {
  volatile char frame[256];
  frame[depth & 255] = char(depth);
  if (!bug && depth > 4) return 0;
  return dive(depth + 1, bug) + frame[depth & 255];
}

__global__ void stack(const int32_t* x, int32_t* y, int n, int bug) {
  y[threadIdx.x] = dive(0, bug);
}

void launch_launch_block(opgold::Stream stream, Input x, Output y, int32_t bug) {
  overflow<<<1, bug ? 1025 : 64, 0, stream>>>(x.data, y.data, int(x.size()), 0);  // planted launch_block
  opgold::check_launch("launch_block");
}

void launch_launch_empty(opgold::Stream stream, Input x, Output y, int32_t bug) {
  overflow<<<1 - bug, 64, 0, stream>>>(x.data, y.data, int(x.size()), 0);  // planted launch_empty
  opgold::check_launch("launch_empty");
}

__global__ void big_shared(const int32_t* x, int32_t* y) {
  extern __shared__ int32_t tile[];
  tile[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = tile[threadIdx.x];
}

void launch_launch_shared(opgold::Stream stream, Input x, Output y, int32_t bug) {
  constexpr int bytes = 64 * 1024;
  if (!bug) cudaFuncSetAttribute(big_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  else cudaFuncSetAttribute(big_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 32 * 1024);
  big_shared<<<1, 64, bytes, stream>>>(x.data, y.data);  // planted launch_shared
  opgold::check_launch("launch_shared");
}

void launch_capture_synchronise(opgold::Stream stream, Input x, Output y, int32_t bug) {
  overflow<<<1, 64, 0, stream>>>(x.data, y.data, int(x.size()), 0);
  if (bug) cudaStreamSynchronize(stream);  // planted capture_synchronise
}

void launch_capture_stream(opgold::Stream stream, Input x, Output y, int32_t bug) {
  overflow<<<1, 64, 0, bug ? nullptr : stream>>>(x.data, y.data, int(x.size()), 0);  // planted capture_stream
}

void launch_capture_copy(opgold::Stream stream, Input x, Output y, int32_t bug) {
  int32_t first[4];
  if (bug) cudaMemcpyAsync(first, x.data, sizeof first, cudaMemcpyDeviceToHost, stream);  // planted capture_copy
  else cudaMemcpyAsync(y.data, x.data, x.size() * sizeof(int32_t), cudaMemcpyDeviceToDevice, stream);
}

// After a launch that was given up, nothing else may run.
void launch_twice(opgold::Stream stream, Input x, Output y, int32_t bug) {
  hang_accesses<<<1, 64, 0, stream>>>(x.data, y.data, int(x.size()), bug);
  overflow<<<1, 64, 0, stream>>>(x.data, y.data, int(x.size()), 0);
  opgold::check_launch("twice");
}

}  // namespace

PLANTED(barrier_exited, 1, 64, 0)
PLANTED(barrier_places, 1, 64, 0)
PLANTED(barrier_and_warp, 1, 32, 0)
PLANTED(warp_outside_mask, 1, 64, 0)
PLANTED(warp_reads_outside, 1, 64, 0)
PLANTED(warp_exited, 1, 64, 0)
PLANTED(warp_places, 1, 64, 0)
PLANTED(warp_other_call, 1, 64, 0)
PLANTED(overflow, 1, 64, 0)
PLANTED(shift, 1, 64, 0)
PLANTED(divide, 1, 64, 0)
PLANTED(hang_accesses, 1, 64, 0)
PLANTED(hang_silent, 1, 1, 0)
PLANTED(stack, 1, 1, 0)
OPGOLD_EXPORT(launch_block, launch_launch_block)
OPGOLD_EXPORT(launch_empty, launch_launch_empty)
OPGOLD_EXPORT(launch_shared, launch_launch_shared)
OPGOLD_EXPORT(capture_synchronise, launch_capture_synchronise)
OPGOLD_EXPORT(capture_stream, launch_capture_stream)
OPGOLD_EXPORT(capture_copy, launch_capture_copy)
OPGOLD_EXPORT(twice, launch_twice)
