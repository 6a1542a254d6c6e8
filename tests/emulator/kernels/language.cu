// Device code that must give the vendor's results: vectors, halves, intrinsics, collectives, CUB, graphs.
#include <cub/cub.cuh>
#include <cuda/functional>

#include "bindings/export.h"

namespace {

using namespace opgold;

__global__ void convert(const float* x, __half* h, __nv_bfloat16* b, float* back, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  h[i] = __float2half(x[i]);
  b[i] = __float2bfloat16(x[i]);
  back[2 * i] = __half2float(h[i]);
  back[2 * i + 1] = __bfloat162float(b[i]);
}

void launch_convert(Stream stream, Tensor<const float, 1> x, Tensor<Half, 1> h, Tensor<BFloat16, 1> b,
                    Tensor<float, 2> back) {
  convert<<<(x.size() + 255) / 256, 256, 0, stream>>>(x.data, h.data, b.data, back.data, int(x.size()));
}

template <class T>
__global__ void half_arithmetic(const T* x, T* y, int n) {
  const int i = threadIdx.x;
  if (i + 1 >= n) return;
  T v = x[i] + x[i + 1];
  v *= x[i];
  y[i] = v > x[i + 1] ? v : -v;
}

template <class T>
void launch_half_arithmetic(Stream stream, Tensor<const T, 1> x, Tensor<T, 1> y) {
  half_arithmetic<<<1, 64, 0, stream>>>(x.data, y.data, int(x.size()));
}

__global__ void bits(const int32_t* x, int32_t* y) {
  const int32_t v = x[threadIdx.x];
  int32_t* to = y + 6 * threadIdx.x;
  to[0] = __popc(v);
  to[1] = __ffs(v);
  to[2] = __clz(v);
  to[3] = int32_t(__brev(v));
  to[4] = max(v, 3ll) > 3;
  to[5] = min(v, 3);
}

void launch_bits(Stream stream, Tensor<const int32_t, 1> x, Tensor<int32_t, 2> y) {
  bits<<<1, unsigned(x.size()), 0, stream>>>(x.data, y.data);
}

__global__ void collectives(const int32_t* x, int32_t* y) {
  const int i = threadIdx.x;
  const unsigned full = 0xffffffffu;
  int32_t* to = y + 10 * i;
  to[0] = __shfl_sync(full, x[i], 5);
  to[1] = __shfl_up_sync(full, x[i], 3);
  to[2] = __shfl_down_sync(full, x[i], 3, 16);
  to[3] = __shfl_xor_sync(full, x[i], 9);
  to[4] = int32_t(__ballot_sync(full, x[i] & 1));
  to[5] = __any_sync(full, x[i] > 60) * 2 + __all_sync(full, x[i] >= 0);
  to[6] = int32_t(__match_any_sync(full, x[i] % 3));
  to[7] = __reduce_max_sync(full, x[i]);
  to[8] = __syncthreads_count(x[i] % 2);
  to[9] = __syncthreads_or(x[i] == 7) * 2 + __syncthreads_and(x[i] < 63);
}

void launch_collectives(Stream stream, Tensor<const int32_t, 1> x, Tensor<int32_t, 2> y) {
  collectives<<<1, unsigned(x.size()), 0, stream>>>(x.data, y.data);
}

template <int Threads, int Items>
__global__ void scans(const int32_t* x, int32_t* y) {
  using Scan = cub::BlockScan<int32_t, Threads>;
  using Reduce = cub::BlockReduce<int32_t, Threads>;
  using WarpScan = cub::WarpScan<int32_t>;
  using WarpReduce = cub::WarpReduce<int32_t, 16>;
  __shared__ union {
    typename Scan::TempStorage scan;
    typename Reduce::TempStorage reduce;
    typename WarpScan::TempStorage warp_scan[Threads / 32];
    typename WarpReduce::TempStorage warp_reduce[Threads / 16];
  } storage;
  const int t = threadIdx.x;
  int32_t items[Items], sums[Items], aggregate, scanned, reduced;
  for (int k = 0; k < Items; ++k) items[k] = x[t * Items + k];
  Scan(storage.scan).ExclusiveSum(items, sums, aggregate);
  for (int k = 0; k < Items; ++k) y[t * Items + k] = sums[k];
  __syncthreads();
  Scan(storage.scan).InclusiveScan(items[0], scanned, cuda::maximum<>{});
  y[Threads * Items + t] = scanned;
  __syncthreads();
  reduced = Reduce(storage.reduce).Reduce(items, cuda::minimum<>{});
  if (t == 0) y[Threads * Items + Threads] = reduced;
  if (t == 0) y[Threads * Items + Threads + 1] = aggregate;
  __syncthreads();
  WarpScan(storage.warp_scan[t / 32]).InclusiveSum(items[0], scanned);
  __syncthreads();
  reduced = WarpReduce(storage.warp_reduce[t / 16]).Sum(scanned);
  if (t % 16 == 0) y[Threads * Items + Threads + 2 + t / 16] = reduced;
}

void launch_scans(Stream stream, Tensor<const int32_t, 1> x, Tensor<int32_t, 1> y) {
  scans<64, 3><<<1, 64, 0, stream>>>(x.data, y.data);
}

__global__ void atomics(const int32_t* x, int32_t* y, float* total) {
  const int v = x[blockIdx.x * blockDim.x + threadIdx.x];
  atomicAdd(&y[0], v);
  atomicMax(&y[1], v);
  atomicMin(&y[2], v);
  atomicOr(&y[3], v);
  atomicCAS(&y[4], 0, 11);
  atomicAdd(total, 0.5f);
}

void launch_atomics(Stream stream, Tensor<const int32_t, 1> x, Tensor<int32_t, 1> y, Tensor<float, 1> total) {
  atomics<<<4, 16, 0, stream>>>(x.data, y.data, total.data);
}

__global__ void where(int32_t* y) {
  const int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  y[b * (blockDim.x * blockDim.y * blockDim.z) + t] = int(threadIdx.z * 100 + threadIdx.y * 10 + threadIdx.x + 1000 * (blockIdx.z * 100 + blockIdx.y * 10 + blockIdx.x));
}

void launch_where(Stream stream, Tensor<int32_t, 2> y) {
  where<<<dim3(2, 3, 2), dim3(5, 2, 3), 0, stream>>>(y.data);
}

__global__ void add(int32_t* y, int32_t value) { y[threadIdx.x] += value; }

// A captured launch keeps the arguments of its capture, and does nothing before its replay.
void launch_graph(Stream stream, Tensor<int32_t, 1> y, int64_t replays) {
  cudaStream_t side;
  cudaStreamCreate(&side);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  int32_t value = 3;
  cudaStreamBeginCapture(side, cudaStreamCaptureModeGlobal);
  add<<<1, unsigned(y.size()), 0, side>>>(y.data, value);
  cudaStreamEndCapture(side, &graph);
  value = 100;
  cudaGraphInstantiate(&executable, graph);
  cudaGraphDestroy(graph);
  for (int64_t i = 0; i < replays; ++i) cudaGraphLaunch(executable, stream);
  cudaGraphExecDestroy(executable);
  cudaStreamDestroy(side);
  check_launch("graph");
}

// The shape of launches that real code has.
template <class T, int N>
struct Pair { T v[N]; };
template <class T, int N>
__global__ void pairs(Pair<T, N> p, T* y) { y[threadIdx.x] = p.v[threadIdx.x % N]; }
#define LAUNCH_PAIRS(T, N)                  \
  pairs<T, N><<<1, 8,                       \
                0, stream>>>(Pair<T, N>{{1, 2}}, y.data)

void launch_shapes(Stream stream, Tensor<int32_t, 1> y, int64_t which) {
  auto pointer = &pairs<int32_t, 2>;
  void (*table[])(Pair<int32_t, 2>, int32_t*) = {&pairs<int32_t, 2>};
  const auto pick = [&](int i) { return table[i]; };
  const Pair<int32_t, 2> pair{{1, 2}};
  if (which == 0) LAUNCH_PAIRS(int32_t, 2);
  else if (which == 1) pointer<<<1, 8, 0, stream>>>(pair, y.data);
  else if (which == 2) table[0]<<<dim3(1), dim3((8 > 4) ? 8 : 4), 0, stream>>>(pair, y.data);
  else if (which == 3) pick(0)<<<1, 8, 0, stream>>>(pair, y.data);
  else if (which == 4) pairs<<<1, 8, 0, stream>>>(pair, y.data);
  else pairs<decltype(which > 2 ? 1 : 2), (3 > 2 ? 2 : 1)> /* a remark */ <<<1, 8, 0, stream>>>(pair, y.data);
}

}  // namespace

OPGOLD_EXPORT(convert, launch_convert)
OPGOLD_EXPORT(half_arithmetic, launch_half_arithmetic<Half>, launch_half_arithmetic<BFloat16>)
OPGOLD_EXPORT(bits, launch_bits)
OPGOLD_EXPORT(collectives, launch_collectives)
OPGOLD_EXPORT(scans, launch_scans)
OPGOLD_EXPORT(atomics, launch_atomics)
OPGOLD_EXPORT(where, launch_where)
OPGOLD_EXPORT(graph, launch_graph)
OPGOLD_EXPORT(shapes, launch_shapes)
