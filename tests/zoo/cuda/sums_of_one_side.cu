// op: get_padding_offset
// class: PAIR
// story: Two prefix sums come from two sources, and one of them is not kept up
//   (https://github.com/vllm-project/vllm/pull/32628).
// caught by: values
#include "packed_batch.cuh"

namespace opgold {
namespace {

__device__ void fill_row(const Batch& op, int64_t row) {
  int64_t index = 0;
  const int64_t slot = place(op, row, index);
  op.ids[row] = slot < 0 ? 2 : op.token(slot, index);
  op.batch_ids[row] = static_cast<int32_t>(slot);
}

__device__ void sum_slot(const Batch& op, int64_t slot) {
  const int32_t sum = sum_before(op.lengths, slot);
  op.sums_q[slot] = sum;
#ifdef ZOO_BUG
  op.sums_k[slot] = sum;
#else
  op.sums_k[slot] = op.cached ? static_cast<int32_t>(uint32_t(sum) + sum_before(op.cached, slot)) : sum;
#endif
}

}  // namespace
}  // namespace opgold
