// op: naive_update_model_status
// class: PADLEN
// story: A slot of length 0 has no output row, and is given the token of the slot before it
//   (https://github.com/vllm-project/vllm/pull/43682).
// caught by: values
#include "sampled_tokens.cuh"

namespace opgold {
namespace {

__device__ void take(const Sampled& op, int64_t slot, bool running, int64_t row) {
#ifdef ZOO_BUG
  if (row >= 0 && row < op.count) op.accepted[slot * op.columns] = op.tokens[row];
#else
  if (running && row >= 0 && row < op.count) op.accepted[slot * op.columns] = op.tokens[row];
#endif
}

}  // namespace
}  // namespace opgold
