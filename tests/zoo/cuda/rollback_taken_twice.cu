// op: update_attn_mask_offsets
// class: STALE
// story: The rollback of one step is still there in the next one, and is taken again
//   (https://github.com/PaddlePaddle/FastDeploy/pull/5738).
// caught by: values, sequence
// plays: mtp_rounds
#include "mask_offsets.cuh"

namespace opgold {
namespace {

__device__ uint32_t base_of(const Masks& op, int64_t slot) {
  return uint32_t(op.bases[slot]) - uint32_t(op.rollback[slot]);
}

__device__ void keep(const Masks& op, int64_t slot, uint32_t end) {
  op.bases[slot] = static_cast<int32_t>(end);
#ifndef ZOO_BUG
  op.rollback[slot] = 0;
#endif
}

__device__ void set(const Masks& op, int64_t token, uint32_t end) {
  op.offsets[2 * token + 1] = static_cast<int32_t>(end);
}

}  // namespace
}  // namespace opgold
