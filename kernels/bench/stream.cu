// stream: many blocks of threads that never meet, one load and one store each.
#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kBlock = 128;

__global__ void add_one(const int32_t* source, int32_t* target) {
  const int64_t i = blockIdx.x * int64_t(kBlock) + threadIdx.x;
  target[i] = source[i] + 1;
}

void stream(Stream stream, Tensor<const int32_t, 1> source, Tensor<int32_t, 1> target) {
  target.require(0, source.shape[0], "elements of source");
  if (source.shape[0] % kBlock) throw ArgumentError("source", source.shape[0], " elements, expected a multiple of ", kBlock);
  if (source.shape[0] == 0) return;
  add_one<<<static_cast<unsigned>(source.shape[0] / kBlock), kBlock, 0, stream>>>(source.data, target.data);
  check_launch("stream");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(stream, opgold::stream)
