// Accesses that are wrong together: no barrier, no atomic between.
#include <cub/cub.cuh>
#include <cuda/functional>

#include "planted.h"

namespace {

__global__ void race_threads(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  if (!bug) __syncthreads();
  y[threadIdx.x] = tile[63 - threadIdx.x];  // planted race_threads
}

// The second write of a loop overtakes the first one's readers.
__global__ void race_reuse(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t tile[64];
  for (int round = 0; round < 2; ++round) {
    tile[threadIdx.x] = x[threadIdx.x] + round;  // planted race_reuse
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];
    if (!bug) __syncthreads();
  }
}

__global__ void race_blocks(const int32_t* x, int32_t* y, int n, int bug) {
  const int to = bug ? threadIdx.x : blockIdx.x * blockDim.x + threadIdx.x;
  y[to] = x[threadIdx.x];  // planted race_blocks
}

// One block reads what another one writes: order decides, under any schedule.
__global__ void race_blocks_read(const int32_t* x, int32_t* y, int n, int bug) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
  const int from = bug ? (i + int(blockDim.x)) % n : i;
  if (y[from] == -1) y[i] = 0;  // planted race_blocks_read
}

__global__ void race_warp(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t tile[32];
  tile[threadIdx.x] = x[threadIdx.x];
  if (bug) __any_sync(0xffffffffu, 1);  // a vote brings lanes together, but orders no memory
  else __syncwarp();
  y[threadIdx.x] = tile[31 - threadIdx.x];  // planted race_warp
}

// Half-warps that synchronise among themselves only.
__global__ void race_half_warp(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t tile[32];
  const int lane = threadIdx.x, half = lane & 16;
  tile[lane] = x[lane];
  __syncwarp(0xffffu << half);
  const int from = bug ? 31 - lane : half + 15 - (lane & 15);
  y[lane] = tile[from];  // planted race_half_warp
}

__global__ void race_plain_and_atomic(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t total;
  if (threadIdx.x == 0) total = 0;
  if (!bug) __syncthreads();
  atomicAdd(&total, x[threadIdx.x]);  // planted race_plain_and_atomic
  __syncthreads();
  y[threadIdx.x] = total;
}

__global__ void race_sum(const int32_t* x, int32_t* y, int n, int bug) {
  if (bug) y[0] += x[threadIdx.x];  // planted race_sum
  else atomicAdd(y, x[threadIdx.x]);
}

void launch_race_sum(opgold::Stream stream, Input x, Output y, int32_t bug) {
  cudaMemsetAsync(y.data, 0, y.size() * sizeof(int32_t), stream);
  race_sum<<<2, 32, 0, stream>>>(x.data, y.data, int(x.size()), bug);
}

__global__ void race_scan_storage(const int32_t* x, int32_t* y, int n, int bug) {
  using Scan = cub::BlockScan<int, 64>;
  __shared__ typename Scan::TempStorage storage;
  int a, b;
  Scan(storage).ExclusiveSum(x[threadIdx.x], a);
  if (!bug) __syncthreads();
  Scan(storage).InclusiveSum(a, b);  // planted race_scan_storage
  y[threadIdx.x] = b;
}

__global__ void race_reduce_storage(const int32_t* x, int32_t* y, int n, int bug) {
  using Reduce = cub::BlockReduce<int, 64>;
  __shared__ Reduce::TempStorage storage;
  const int a = Reduce(storage).Sum(x[threadIdx.x]);
  if (!bug) __syncthreads();
  const int b = Reduce(storage).Reduce(x[threadIdx.x], cuda::maximum<>{});  // planted race_reduce_storage
  if (threadIdx.x == 0) y[0] = a + b;
}

// Each thread owns one byte of a word: no race, whatever the element type of the declaration.
__global__ void race_bytes(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t words[16];
  auto* bytes = reinterpret_cast<unsigned char*>(words);
  bytes[bug ? threadIdx.x / 2 : threadIdx.x] = static_cast<unsigned char>(x[threadIdx.x]);  // planted race_bytes
  __syncthreads();
  if (threadIdx.x < 16 && !bug) y[threadIdx.x] = words[threadIdx.x];
}

}  // namespace

PLANTED(race_threads, 1, 64, 0)
PLANTED(race_reuse, 1, 64, 0)
PLANTED(race_blocks, 2, 32, 0)
PLANTED(race_blocks_read, 2, 32, 0)
PLANTED(race_warp, 1, 32, 0)
PLANTED(race_half_warp, 1, 32, 0)
PLANTED(race_plain_and_atomic, 1, 64, 0)
OPGOLD_EXPORT(race_sum, launch_race_sum)
PLANTED(race_scan_storage, 1, 64, 0)
PLANTED(race_reduce_storage, 1, 64, 0)
PLANTED(race_bytes, 1, 64, 0)
