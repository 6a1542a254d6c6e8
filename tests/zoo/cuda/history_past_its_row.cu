// op: draft_model_set_value_by_flags
// class: OOB-W
// story: The column of the write is never held against the row
//   (https://github.com/PaddlePaddle/FastDeploy/pull/6685).
// caught by: bounds
#include "draft_history.cuh"

namespace opgold {
namespace {

__device__ void write(const History& op, int64_t slot) {
  if (!op.acts(slot)) return;
  const int64_t run = op.run(slot);
  const int64_t first = static_cast<int64_t>(uint64_t(op.step_idx[slot]) + 1 - uint64_t(run));
  for (int64_t i = 0; i < run; ++i) {
#ifdef ZOO_BUG
    op.pre_ids[slot * op.columns + first + i] = op.draft_tokens[slot * op.drafts + i];
#else
    if (op.in_row(first + i)) op.pre_ids[slot * op.columns + first + i] = op.draft_tokens[slot * op.drafts + i];
#endif
  }
  op.this_time[slot] = 1;
}

}  // namespace
}  // namespace opgold
