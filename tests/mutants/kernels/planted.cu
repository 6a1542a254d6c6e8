// One small function an operator: y[k] is what function k makes of a and b.
#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kThreads = 4;

__device__ int64_t comparison(int a, int b) { return a < b; }
__device__ int64_t off_by_one(int a, int b) {
  int64_t sum = 0;
  for (int i = 0; i < b; ++i) sum += a;
  return sum;
}
__device__ int64_t arithmetic(int a, int b) { return a - b; }
__device__ int64_t bits(int a, int b) { return a & b; }
__device__ int64_t guard(int a, int b) { return a ? 7 : b; }
__device__ bool odd(int a) { return a % 2; }
__device__ int64_t condition(int a, int b) { return odd(a) && odd(b); }
__device__ int64_t index(int a) {
  const int table[] = {10, 20, 40};
  return table[a];
}
__device__ int64_t lesser(int a, int b) { return min(a, b); }
__device__ int64_t difference(int a, int b) { return a - b; }
__device__ int64_t swapped(int a, int b) { return difference(a, b); }
__device__ int64_t wide(const int64_t* numbers) {
  const int64_t number = numbers[0];
  return number;
}
__device__ int64_t statement(int a, int b) {
  int64_t result = b;
  if (a) {
    result = a;
    return result;
  }
  return !result;
}

__global__ void fill(int a, int b, const int64_t* numbers, int64_t* y) {
  __shared__ int tile[kThreads];
  y[threadIdx.x] = a;
  tile[(threadIdx.x + 1) % kThreads] = a + int(threadIdx.x);
  __syncthreads();
  y[4 + threadIdx.x] = tile[threadIdx.x];
  if (threadIdx.x != 3) return;
  y[8] = comparison(a, b);
  y[9] = off_by_one(a, b);
  y[10] = arithmetic(a, b);
  y[11] = bits(a, b);
  y[12] = guard(a, b);
  y[13] = condition(a, b);
  y[14] = index(a & 1);
  y[15] = lesser(a, b);
  y[16] = swapped(a, b);
  y[17] = wide(numbers);
  y[18] = statement(a, b);
}

void planted(Stream stream, Tensor<const int64_t, 1> numbers, Tensor<int64_t, 1> y, int64_t a, int64_t b) {
  fill<<<1, kThreads, 0, stream>>>(static_cast<int>(a), static_cast<int>(b), numbers.data, y.data);
  check_launch("planted");
}

int host_code(int a, int b) { return a < b ? a : b; }

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(planted, opgold::planted)
