// Accesses that are wrong by themselves.
#include <cstring>

#include "planted.h"

namespace {

__global__ void bounds_read(const int32_t* x, int32_t* y, int n, int bug) {
  const int i = threadIdx.x;
  y[i] = x[i + bug];  // planted bounds_read
}

__global__ void bounds_write(const int32_t* x, int32_t* y, int n, int bug) {
  const int i = threadIdx.x;
  y[i - bug] = x[i];  // planted bounds_write
}

// Rows of five elements: a vector of four from element two runs over the last row's end.
__global__ void bounds_vector(const int32_t* x, int32_t* y, int n, int bug) {
  struct __attribute__((packed, aligned(4))) Loose { int32_t v[4]; };
  const int start = n - 4 + bug;
  if (threadIdx.x == 0) *reinterpret_cast<Loose*>(y) = *reinterpret_cast<const Loose*>(x + start);  // planted bounds_vector
}

__global__ void bounds_copy(const int32_t* x, int32_t* y, int n, int bug) {
  if (threadIdx.x == 0) memcpy(y, x + bug, n * sizeof(int32_t));  // planted bounds_copy
}

__global__ void bounds_shared(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t tile[64];
  int32_t* flat = tile;
  flat[threadIdx.x + bug] = x[threadIdx.x];  // planted bounds_shared
  __syncthreads();
  y[threadIdx.x] = bug ? 0 : tile[63 - threadIdx.x];
}

__global__ void bounds_dynamic(const int32_t* x, int32_t* y, int n, int bug) {
  extern __shared__ int32_t tile[];
  tile[threadIdx.x + bug] = x[threadIdx.x];  // planted bounds_dynamic
  __syncthreads();
  y[threadIdx.x] = bug ? 0 : tile[63 - threadIdx.x];
}

__global__ void misaligned(const int32_t* x, int32_t* y, int n, int bug) {
  if (threadIdx.x < 8) *reinterpret_cast<int4*>(y + 4 * threadIdx.x) = *reinterpret_cast<const int4*>(x + 4 * threadIdx.x + bug);  // planted misaligned
}

__global__ void uninitialised_shared(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t tile[64];
  if (threadIdx.x >= bug) tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[63 - threadIdx.x];  // planted uninitialised_shared
}

__global__ void uninitialised_output(const int32_t* x, int32_t* y, int n, int bug) {
  if (!bug) y[threadIdx.x] = 0;
  y[threadIdx.x] += x[threadIdx.x];  // planted uninitialised_output
}

__global__ void input_write(const int32_t* x, int32_t* y, int n, int bug) {
  int32_t* to = bug ? const_cast<int32_t*>(x) : y;
  to[threadIdx.x] = 7;  // planted input_write
}

__device__ const int32_t table[4] = {1, 2, 3, 4};

__global__ void host_memory(const int32_t* x, int32_t* y, int n, int bug, const int32_t* outside) {
  const int32_t* from = bug ? outside : table;
  y[threadIdx.x] = from[threadIdx.x % 4];  // planted host_memory
}

void launch_host_memory(opgold::Stream stream, Input x, Output y, int32_t bug) {
  const int32_t local[4] = {1, 2, 3, 4};
  host_memory<<<1, 64, 0, stream>>>(x.data, y.data, int(x.size()), bug, local);
}

void launch_host_touch(opgold::Stream stream, Input x, Output y, int32_t bug) {
  const int n = bug ? x.data[0] : int(x.size());  // planted host_touch
  bounds_read<<<1, 64, 0, stream>>>(x.data, y.data, n, 0);
}

// In C the last member of a struct may be longer than it is declared; not here.
struct Held {
  int32_t count, values[4];
  __device__ void add(int32_t value) { values[count++] = value; }  // planted bounds_member
};

__global__ void bounds_member(const int32_t* x, int32_t* y, int n, int bug) {
  struct { Held held; int32_t behind; } both = {{0, {}}, 0};
  for (int i = 0; i < 4 + bug; ++i) both.held.add(x[i]);
  y[threadIdx.x] = both.held.values[threadIdx.x % 4];
}

__global__ void null_pointer(const int32_t* x, int32_t* y, int n, int bug) {
  const int32_t* from = bug ? nullptr : x;
  y[threadIdx.x] = from[threadIdx.x];  // planted null_pointer
}

__global__ void wild_pointer(const int32_t* x, int32_t* y, int n, int bug) {
  const int64_t far = bug ? int64_t{1} << 28 : 0;
  y[threadIdx.x] = x[far + threadIdx.x];  // planted wild_pointer
}

}  // namespace

PLANTED(bounds_read, 1, 64, 0)
PLANTED(bounds_write, 1, 64, 0)
PLANTED(bounds_vector, 1, 64, 0)
PLANTED(bounds_copy, 1, 64, 0)
PLANTED(bounds_shared, 1, 64, 0)
PLANTED(bounds_dynamic, 1, 64, 64 * sizeof(int32_t))
PLANTED(bounds_member, 1, 64, 0)
PLANTED(misaligned, 1, 64, 0)
PLANTED(uninitialised_shared, 1, 64, 0)
PLANTED(uninitialised_output, 1, 64, 0)
PLANTED(input_write, 1, 64, 0)
OPGOLD_EXPORT(host_memory, launch_host_memory)
OPGOLD_EXPORT(host_touch, launch_host_touch)
PLANTED(null_pointer, 1, 64, 0)
PLANTED(wild_pointer, 1, 64, 0)
