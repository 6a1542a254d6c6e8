// op: get_padding_offset
// class: PAD
// story: Behind the last token the ids are 0 and the batch ids 0, which is a slot, not 2 and -1
//   (https://github.com/PaddlePaddle/FastDeploy/pull/7247).
// caught by: values
#include "packed_batch.cuh"

namespace opgold {
namespace {

__device__ void fill_row(const Batch& op, int64_t row) {
  int64_t index = 0;
  const int64_t slot = place(op, row, index);
#ifdef ZOO_BUG
  op.ids[row] = slot < 0 ? 0 : op.token(slot, index);
  op.batch_ids[row] = static_cast<int32_t>(slot < 0 ? 0 : slot);
#else
  op.ids[row] = slot < 0 ? 2 : op.token(slot, index);
  op.batch_ids[row] = static_cast<int32_t>(slot);
#endif
}

__device__ void sum_slot(const Batch& op, int64_t slot) {
  const int32_t sum = sum_before(op.lengths, slot);
  op.sums_q[slot] = sum;
  op.sums_k[slot] = op.cached ? static_cast<int32_t>(uint32_t(sum) + sum_before(op.cached, slot)) : sum;
}

}  // namespace
}  // namespace opgold
