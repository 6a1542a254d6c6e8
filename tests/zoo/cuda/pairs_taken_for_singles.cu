// op: update_attn_mask_offsets
// class: SHAPE
// story: The flat buffer holds a pair for each token, and is written as if it held one number
//   (https://github.com/PaddlePaddle/FastDeploy/pull/7295).
// caught by: values
#include "mask_offsets.cuh"

namespace opgold {
namespace {

__device__ uint32_t base_of(const Masks& op, int64_t slot) {
  return uint32_t(op.bases[slot]) - uint32_t(op.rollback[slot]);
}

__device__ void keep(const Masks& op, int64_t slot, uint32_t end) {
  op.bases[slot] = static_cast<int32_t>(end);
  op.rollback[slot] = 0;
}

__device__ void set(const Masks& op, int64_t token, uint32_t end) {
#ifdef ZOO_BUG
  op.offsets[token] = static_cast<int32_t>(end);
#else
  op.offsets[2 * token + 1] = static_cast<int32_t>(end);
#endif
}

}  // namespace
}  // namespace opgold
