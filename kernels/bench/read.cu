// read: what reading so many bytes once costs at least.
#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 1056;  // eight on each processor of an H200
constexpr int kInFlight = 4;   // 16-byte loads of a thread

__global__ void __launch_bounds__(kThreads) look(const uint4* vectors, int64_t count, uint32_t* sink) {
  const int64_t stride = int64_t(gridDim.x) * kThreads;
  uint32_t seen = 0;
  for (int64_t first = blockIdx.x * int64_t(kThreads) + threadIdx.x; first < count; first += kInFlight * stride) {
    uint4 held[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const int64_t i = first + k * stride;
      held[k] = i < count ? vectors[i] : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) seen |= held[k].x ^ held[k].y ^ held[k].z ^ held[k].w;
  }
  if (seen == 0x9e3779b9u) sink[0] = seen;  // keeps the loads; hardly ever so
}

void read(Stream stream, Tensor<const uint8_t, 1> source, Tensor<int32_t, 1> sink) {
  sink.require(0, 1, "one number");
  if (reinterpret_cast<uintptr_t>(source.data) % sizeof(uint4)) throw ArgumentError("source", "is not aligned");
  look<<<kBlocks, kThreads, 0, stream>>>(reinterpret_cast<const uint4*>(source.data),
                                         source.shape[0] / int64_t(sizeof(uint4)),
                                         reinterpret_cast<uint32_t*>(sink.data));
  check_launch("read");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(read, opgold::read)
