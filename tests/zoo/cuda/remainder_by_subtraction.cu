// op: build_sampling_params
// class: TERM
// story: A remainder is taken by subtracting again and again; with a modulus of 0 there is no end
//   (https://github.com/PaddlePaddle/FastDeploy/pull/7648).
// caught by: launch
#include "seeds.cuh"

namespace opgold {
namespace {

__device__ int64_t advanced(const Sampling& op, int64_t slot, int64_t steps) {
#ifdef ZOO_BUG
  if (op.seeds[slot] < 0 || steps < 0 || steps > INT64_MAX - op.seeds[slot]) return 0;
  __shared__ int64_t seed;
  seed = op.seeds[slot] + steps;
  while (seed >= op.modulus) seed -= op.modulus;
  return seed;
#else
  if (op.modulus < 1 || op.seeds[slot] < 0 || steps < 0) return 0;
  return static_cast<int64_t>((uint64_t(op.seeds[slot]) + uint64_t(steps)) % uint64_t(op.modulus));
#endif
}

__device__ int64_t end_of(const Sampling& op, int64_t slot) {
  return op.starts[slot + 1] < op.rows ? op.starts[slot + 1] : op.rows;
}

}  // namespace
}  // namespace opgold
