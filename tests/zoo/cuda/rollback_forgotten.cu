// op: update_attn_mask_offsets
// class: ROLLBACK
// story: After a rejection the base of the mask is not taken back
//   (https://github.com/PaddlePaddle/FastDeploy/pull/5738).
// caught by: values, sequence
// plays: mtp_rounds
#include "mask_offsets.cuh"

namespace opgold {
namespace {

__device__ uint32_t base_of(const Masks& op, int64_t slot) {
#ifdef ZOO_BUG
  return uint32_t(op.bases[slot]);
#else
  return uint32_t(op.bases[slot]) - uint32_t(op.rollback[slot]);
#endif
}

__device__ void keep(const Masks& op, int64_t slot, uint32_t end) {
  op.bases[slot] = static_cast<int32_t>(end);
  op.rollback[slot] = 0;
}

__device__ void set(const Masks& op, int64_t token, uint32_t end) {
  op.offsets[2 * token + 1] = static_cast<int32_t>(end);
}

}  // namespace
}  // namespace opgold
