// op: draft_model_set_value_by_flags
// class: CONV
// story: step_idx came to count the tokens of this round as well, and the reader goes on with the old meaning
//   (https://github.com/PaddlePaddle/FastDeploy/pull/7349).
// caught by: values
#include "draft_history.cuh"

namespace opgold {
namespace {

__device__ void write(const History& op, int64_t slot) {
  if (!op.acts(slot)) return;
  const int64_t run = op.run(slot);
#ifdef ZOO_BUG
  const int64_t first = op.step_idx[slot] < op.columns ? op.step_idx[slot] + 1 : op.columns;
#else
  const int64_t first = op.step_idx[slot] < op.columns ? op.step_idx[slot] + 1 - run : op.columns;
#endif
  for (int64_t i = 0; i < run; ++i) {
    if (op.in_row(first + i)) op.pre_ids[slot * op.columns + first + i] = op.draft_tokens[slot * op.drafts + i];
  }
  op.this_time[slot] = 1;
}

}  // namespace
}  // namespace opgold
