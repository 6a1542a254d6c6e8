// op: build_sampling_params
// class: WIDTH
// story: There is no 64-bit remainder on the device, and the seed is cut to 31 bits
//   (https://github.com/PaddlePaddle/FastDeploy/pull/7648).
// caught by: values
#include "seeds.cuh"

namespace opgold {
namespace {

__device__ int64_t advanced(const Sampling& op, int64_t slot, int64_t steps) {
  if (op.modulus < 1 || op.seeds[slot] < 0 || steps < 0) return 0;
#ifdef ZOO_BUG
  return static_cast<int64_t>((uint64_t(op.seeds[slot]) + uint64_t(steps)) % uint64_t(op.modulus) & 0x7fffffff);
#else
  return static_cast<int64_t>((uint64_t(op.seeds[slot]) + uint64_t(steps)) % uint64_t(op.modulus));
#endif
}

__device__ int64_t end_of(const Sampling& op, int64_t slot) {
  return op.starts[slot + 1] < op.rows ? op.starts[slot + 1] : op.rows;
}

}  // namespace
}  // namespace opgold
