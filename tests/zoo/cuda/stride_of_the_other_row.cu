// op: draft_model_set_value_by_flags
// class: STRIDE
// story: The rows of two arrays are of different width, and one width is used for both
//   (https://github.com/NVIDIA/TensorRT-LLM/pull/13426).
// caught by: values
#include "draft_history.cuh"

namespace opgold {
namespace {

__device__ void write(const History& op, int64_t slot) {
  if (!op.acts(slot)) return;
  const int64_t run = op.run(slot);
  const int64_t first = op.step_idx[slot] < op.columns ? op.step_idx[slot] + 1 - run : op.columns;
  for (int64_t i = 0; i < run; ++i) {
    if (!op.in_row(first + i)) continue;
#ifdef ZOO_BUG
    op.pre_ids[slot * op.drafts + first + i] = op.draft_tokens[slot * op.drafts + i];
#else
    op.pre_ids[slot * op.columns + first + i] = op.draft_tokens[slot * op.drafts + i];
#endif
  }
  op.this_time[slot] = 1;
}

}  // namespace
}  // namespace opgold
