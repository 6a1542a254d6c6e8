// op: build_sampling_params
// class: SIZE
// story: The number of rows comes from the host and is never held against the sums on the device
//   (https://github.com/PaddlePaddle/FastDeploy/pull/7738).
// caught by: bounds
#include "seeds.cuh"

namespace opgold {
namespace {

__device__ int64_t advanced(const Sampling& op, int64_t slot, int64_t steps) {
  if (op.modulus < 1 || op.seeds[slot] < 0 || steps < 0) return 0;
  return static_cast<int64_t>((uint64_t(op.seeds[slot]) + uint64_t(steps)) % uint64_t(op.modulus));
}

__device__ int64_t end_of(const Sampling& op, int64_t slot) {
#ifdef ZOO_BUG
  return op.starts[slot + 1];
#else
  return op.starts[slot + 1] < op.rows ? op.starts[slot + 1] : op.rows;
#endif
}

}  // namespace
}  // namespace opgold
