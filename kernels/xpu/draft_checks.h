// What the launchers of draft-model ops check.
#pragma once

#include "xpu/slot_checks.h"

namespace opgold {

inline void require_model_steps(int32_t num_model_step) {
  if (num_model_step < 1) throw ArgumentError("num_model_step", "is ", num_model_step, ", expected at least 1");
}

// The two update ops: slots of all arrays, and a column of the base draft row for the substep, which is returned.
inline int64_t require_updated(const Tensor<int64_t, 2>& draft_tokens, const Tensor<int64_t, 2>& pre_ids,
                               const Tensor<int32_t, 1>& seq_lens_this_time, const Tensor<int32_t, 1>& seq_lens_encoder,
                               const Tensor<int32_t, 1>& seq_lens_decoder, const Tensor<int64_t, 1>& step_idx,
                               const Tensor<const int32_t, 1>& cu_seqlens_q_output,
                               const Tensor<bool, 1>& not_need_stop, const Tensor<const int64_t, 1>& max_dec_len,
                               const Tensor<int64_t, 2>& base_model_draft_tokens, int64_t substep) {
  const int64_t bsz = draft_tokens.shape[0], columns = base_model_draft_tokens.shape[1];
  require_each(bsz, "slots of draft_tokens", pre_ids, seq_lens_this_time, seq_lens_encoder, seq_lens_decoder, step_idx,
               max_dec_len, base_model_draft_tokens);
  cu_seqlens_q_output.require(0, bsz + 1, "slots of draft_tokens, and 1");
  not_need_stop.require(0, 1, "one flag");
  if (substep < 0 || substep >= columns - 1)
    throw ArgumentError("substep", "is ", substep, ", expected at least 0 and below the ", columns,
                        " columns of base_model_draft_tokens less one");
  return substep + 1;
}

}  // namespace opgold
