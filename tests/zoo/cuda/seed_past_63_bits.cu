// op: build_sampling_params
// class: WIDTH
// story: A seed near the largest and its increment overflow before the remainder is taken
//   (https://github.com/PaddlePaddle/FastDeploy/pull/7648).
// caught by: overflow
#include "seeds.cuh"

namespace opgold {
namespace {

__device__ int64_t advanced(const Sampling& op, int64_t slot, int64_t steps) {
  if (op.modulus < 1 || op.seeds[slot] < 0 || steps < 0) return 0;
#ifdef ZOO_BUG
  return (op.seeds[slot] + steps) % op.modulus;
#else
  return static_cast<int64_t>((uint64_t(op.seeds[slot]) + uint64_t(steps)) % uint64_t(op.modulus));
#endif
}

__device__ int64_t end_of(const Sampling& op, int64_t slot) {
  return op.starts[slot + 1] < op.rows ? op.starts[slot + 1] : op.rows;
}

}  // namespace
}  // namespace opgold
