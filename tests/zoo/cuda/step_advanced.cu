// op: draft_model_set_value_by_flags
// class: RO
// story: The op is said not to touch step_idx, and advances it
//   (https://github.com/PaddlePaddle/FastDeploy/pull/6973).
// caught by: inputs
#include "draft_history.cuh"

namespace opgold {
namespace {

__device__ void write(const History& op, int64_t slot) {
  if (!op.acts(slot)) return;
  const int64_t run = op.run(slot);
  const int64_t first = op.step_idx[slot] < op.columns ? op.step_idx[slot] + 1 - run : op.columns;
  for (int64_t i = 0; i < run; ++i) {
    if (op.in_row(first + i)) op.pre_ids[slot * op.columns + first + i] = op.draft_tokens[slot * op.drafts + i];
  }
#ifdef ZOO_BUG
  const_cast<int64_t*>(op.step_idx)[slot] = first + run;
#endif
  op.this_time[slot] = 1;
}

}  // namespace
}  // namespace opgold
