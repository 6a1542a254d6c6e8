// op: naive_update_model_status
// class: SENT
// story: The row of a slot that has none is -1, and is used as an index; a GPU seldom minds, another vendor's vector core
//   does (https://github.com/vllm-project/vllm/pull/46533).
// caught by: bounds
#include "sampled_tokens.cuh"

namespace opgold {
namespace {

__device__ void take(const Sampled& op, int64_t slot, bool running, int64_t row) {
#ifdef ZOO_BUG
  if (running && row < op.count) op.accepted[slot * op.columns] = op.tokens[row];
#else
  if (running && row >= 0 && row < op.count) op.accepted[slot * op.columns] = op.tokens[row];
#endif
}

}  // namespace
}  // namespace opgold
