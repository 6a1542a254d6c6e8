// Launchers that end their process, never return, or refuse; and one that does its work.
#include <csignal>
#include <unistd.h>

#include "bindings/export.h"

namespace opgold {
namespace {

__global__ void add_one(const int32_t* source, int32_t* target, int64_t size) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < size) target[i] = source[i] + 1;
}

void work(Stream stream, Tensor<const int32_t, 1> source, Tensor<int32_t, 1> target, int64_t blocks) {
  add_one<<<static_cast<unsigned>(blocks), 32, 0, stream>>>(source.data, target.data, target.shape[0]);
  check_launch("work");
}

void die(Stream, Tensor<const int32_t, 1>, Tensor<int32_t, 1>, int64_t) { kill(getpid(), SIGKILL); }

void sleep_on(Stream, Tensor<const int32_t, 1>, Tensor<int32_t, 1>, int64_t) {
  for (;;) sleep(1);
}

void refuse(Stream, Tensor<const int32_t, 1> source, Tensor<int32_t, 1>, int64_t blocks) {
  throw ArgumentError(source.name, "is refused, ", blocks, " blocks or not");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(work, opgold::work)
OPGOLD_EXPORT(die, opgold::die)
OPGOLD_EXPORT(sleep_on, opgold::sleep_on)
OPGOLD_EXPORT(refuse, opgold::refuse)
