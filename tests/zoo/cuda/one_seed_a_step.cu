// op: build_sampling_params
// class: SEED
// story: All rows of a step draw from one seed, and a tenth of the diversity is lost
//   (https://github.com/PaddlePaddle/FastDeploy/pull/5568).
// caught by: values
#include "seeds.cuh"

namespace opgold {
namespace {

__device__ int64_t advanced(const Sampling& op, int64_t slot, int64_t steps) {
#ifdef ZOO_BUG
  if (steps != op.increment) steps = 0;
#endif
  if (op.modulus < 1 || op.seeds[slot] < 0 || steps < 0) return 0;
  return static_cast<int64_t>((uint64_t(op.seeds[slot]) + uint64_t(steps)) % uint64_t(op.modulus));
}

__device__ int64_t end_of(const Sampling& op, int64_t slot) {
  return op.starts[slot + 1] < op.rows ? op.starts[slot + 1] : op.rows;
}

}  // namespace
}  // namespace opgold
