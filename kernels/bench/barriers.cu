// barriers: one block of 1,024 threads that meet three times; what a switch of threads costs in the emulator.
#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kBlock = 1024;

__global__ void meet_thrice(const int32_t* source, int32_t* target) {
  __shared__ int32_t tile[kBlock];
  const int thread = threadIdx.x;
  tile[thread] = source[thread];
  __syncthreads();
  const int32_t neighbour = tile[(thread + 1) % kBlock];
  __syncthreads();
  tile[thread] = neighbour + 1;
  __syncthreads();
  target[thread] = tile[kBlock - 1 - thread];
}

void barriers(Stream stream, Tensor<const int32_t, 1> source, Tensor<int32_t, 1> target) {
  source.require(0, kBlock, "threads of the block");
  target.require(0, kBlock, "threads of the block");
  meet_thrice<<<1, kBlock, 0, stream>>>(source.data, target.data);
  check_launch("barriers");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(barriers, opgold::barriers)
