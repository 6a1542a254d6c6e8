// speculate_limit_thinking_content_length: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_limit_thinking_content_length(
    Int64* next_tokens, Int64 max_draft, const int* max_think_lens, int* max_reply_lens, Int64* step_idx,
    int* limit_status, int* accept_num, const bool* stop_flags, Int64 bsz, const Int64* eos_token_ids,
    Int64 end_tokens, const Int64* inject_token_ids, Int64 items, Int64 think_end_id, bool decode_node,
    bool hit_at_limit);

}  // namespace xpu

namespace {

void speculate_limit_thinking_content_length(
    Stream stream, Tensor<int64_t, 2> next_tokens, Tensor<const int32_t, 1> max_think_lens,
    Tensor<int32_t, 1> max_reply_lens, Tensor<int64_t, 1> step_idx, Tensor<int32_t, 1> limit_status,
    Tensor<int32_t, 1> accept_num, Tensor<const bool, 1> stop_flags, Tensor<const int64_t, 1> eos_token_ids,
    Tensor<const int64_t, 1> inject_token_ids, int64_t think_end_id, bool splitwise_role_is_decode, bool hit_at_limit) {
  const int64_t bsz = next_tokens.shape[0];
  require_each(bsz, "slots of next_tokens", max_think_lens, max_reply_lens, step_idx, limit_status, accept_num,
               stop_flags);
  if (bsz == 0) return;
  check_launch("speculate_limit_thinking_content_length",
               xpu::speculate_limit_thinking_content_length<<<clusters(), cores(), stream>>>(
                   device_data(next_tokens), next_tokens.shape[1], max_think_lens.data, max_reply_lens.data,
                   device_data(step_idx), limit_status.data, accept_num.data, stop_flags.data, bsz,
                   device_data(eos_token_ids), eos_token_ids.shape[0], device_data(inject_token_ids),
                   inject_token_ids.shape[0], think_end_id, splitwise_role_is_decode, hit_at_limit));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_limit_thinking_content_length, opgold::speculate_limit_thinking_content_length)
