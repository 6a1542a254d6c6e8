// Kernels that each break one rule on a real device; `work` breaks none.
#include "bindings/export.h"

namespace opgold {
namespace {

using Source = Tensor<const int32_t, 1>;
using Target = Tensor<int32_t, 1>;

__global__ void add_one(const int32_t* source, int32_t* target, int64_t size) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < size) target[i] = source[i] + 1;
}
__global__ void store(int32_t* target, int64_t element) { target[element] = 7; }
__global__ void stop_at_a_trap() { __trap(); }
__global__ void spin(const volatile int32_t* target) {
  while (*target != 12345) {
  }
}

void launch_work(cudaStream_t stream, const Source& source, const Target& target) {
  add_one<<<1, 128, 0, stream>>>(source.data, target.data, target.shape[0]);
  check_launch("work");
}

void work(Stream stream, Source source, Target target) { launch_work(stream, source, target); }

void write_behind(Stream stream, Source source, Target target) {
  launch_work(stream, source, target);
  store<<<1, 1, 0, stream>>>(target.data, target.shape[0] + 2);
}

void write_in_front(Stream stream, Source source, Target target) {
  launch_work(stream, source, target);
  store<<<1, 1, 0, stream>>>(target.data, -3);
}

void write_input(Stream stream, Source source, Target target) {
  launch_work(stream, source, target);
  store<<<1, 1, 0, stream>>>(const_cast<int32_t*>(source.data), 2);
}

void trap(Stream stream, Source, Target) { stop_at_a_trap<<<1, 1, 0, stream>>>(); }

void write_nowhere(Stream stream, Source, Target) { store<<<1, 1, 0, stream>>>(nullptr, 1); }

void never_end(Stream stream, Source, Target target) { spin<<<1, 1, 0, stream>>>(target.data); }

void other_stream(Stream, Source source, Target target) { launch_work(nullptr, source, target); }

void too_large(Stream stream, Source, Target target) {
  store<<<1, 2048, 0, stream>>>(target.data, 0);
  check_launch("too_large");
}

void wait_for_stream(Stream stream, Source source, Target target) {
  launch_work(stream, source, target);
  cudaStreamSynchronize(stream);
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(work, opgold::work)
OPGOLD_EXPORT(write_behind, opgold::write_behind)
OPGOLD_EXPORT(write_in_front, opgold::write_in_front)
OPGOLD_EXPORT(write_input, opgold::write_input)
OPGOLD_EXPORT(trap, opgold::trap)
OPGOLD_EXPORT(write_nowhere, opgold::write_nowhere)
OPGOLD_EXPORT(never_end, opgold::never_end)
OPGOLD_EXPORT(other_stream, opgold::other_stream)
OPGOLD_EXPORT(too_large, opgold::too_large)
OPGOLD_EXPORT(wait_for_stream, opgold::wait_for_stream)
