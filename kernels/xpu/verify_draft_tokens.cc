// verify_draft_tokens: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"
#include "xpu/verify_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void verify_draft_tokens(
    Int64* step_output_ids, int* step_output_len, const Int64* step_input_ids, Int64 width, const Int64* target_tokens,
    Int64 target_rows, const Int64* candidate_ids, const float* candidate_scores, const int* candidate_lens,
    Int64 candidate_rows, Int64 candidates, const float* topp, const bool* stop_flags, const int* seq_lens_encoder,
    const int* seq_lens_this_time, const Int64* end_tokens, Int64 end_count, const bool* is_block_step,
    const int* cu_seqlens_q_output, const int* reasoning_status, const Int64* max_dec_len, const Int64* step_idx,
    const float* uniforms, Int64 verify_window, bool reject_all, bool accept_all, Int64 bsz, Int64 max_bsz);

}  // namespace xpu

namespace {

enum Strategy : int64_t { kTopP = 0, kGreedy = 1, kTargetMatch = 2 };

void verify_draft_tokens(
    Stream stream, Tensor<int64_t, 2> step_output_ids, Tensor<int32_t, 1> step_output_len,
    Tensor<const int64_t, 2> step_input_ids, Optional<Tensor<const int64_t, 1>> target_tokens,
    Optional<Tensor<const int64_t, 2>> candidate_ids, Optional<Tensor<const float, 2>> candidate_scores,
    Optional<Tensor<const int32_t, 1>> candidate_lens, Tensor<const float, 1> topp, Tensor<const bool, 1> stop_flags,
    Tensor<const int32_t, 1> seq_lens_encoder, Tensor<const int32_t, 1> seq_lens_this_time,
    Tensor<const int64_t, 1> end_tokens, Tensor<const bool, 1> is_block_step,
    Tensor<const int32_t, 1> cu_seqlens_q_output, Tensor<const int32_t, 1> reasoning_status,
    Tensor<const int64_t, 1> max_dec_len, Tensor<const int64_t, 1> step_idx, Optional<Tensor<const float, 1>> uniforms,
    int64_t, int64_t verify_window, int64_t verify_strategy, bool reject_all, bool accept_all) {
  const int64_t max_bsz = step_output_ids.shape[0], width = step_output_ids.shape[1];
  const int64_t bsz = seq_lens_this_time.shape[0];
  require_all_slots(max_bsz, bsz, step_input_ids, step_output_len, topp, stop_flags, seq_lens_encoder, is_block_step,
                    reasoning_status, max_dec_len, step_idx);
  step_input_ids.require(1, width, "columns of step_output_ids");
  cu_seqlens_q_output.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  require_window(verify_window);
  if (verify_strategy < kTopP || verify_strategy > kTargetMatch)
    throw ArgumentError("verify_strategy", verify_strategy, ", expected 0, 1 or 2");
  const bool top_p = verify_strategy == kTopP;
  if (top_p) {
    require_given("verify_strategy", candidate_ids, candidate_scores, candidate_lens, uniforms);
    require_candidates(candidate_ids, candidate_lens);
    require_draws(candidate_ids, candidate_scores, uniforms, bsz);
  } else {
    require_given("verify_strategy", target_tokens);
  }
  if (max_bsz == 0) return;
  check_launch("verify_draft_tokens",
               xpu::verify_draft_tokens<<<clusters(), cores(), stream>>>(
                   device_data(step_output_ids), step_output_len.data, device_data(step_input_ids), width,
                   top_p ? nullptr : device_data(target_tokens), target_tokens.shape[0], device_data(candidate_ids),
                   candidate_scores.data, candidate_lens.data, top_p ? candidate_ids.shape[0] : 0,
                   candidate_ids.shape[1], topp.data, stop_flags.data, seq_lens_encoder.data, seq_lens_this_time.data,
                   device_data(end_tokens), end_tokens.shape[0], is_block_step.data, cu_seqlens_q_output.data,
                   reasoning_status.data, device_data(max_dec_len), device_data(step_idx),
                   top_p ? uniforms.data : nullptr, verify_window, reject_all, accept_all, bsz, max_bsz));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(verify_draft_tokens, opgold::verify_draft_tokens)
