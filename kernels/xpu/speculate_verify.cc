// speculate_verify: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"
#include "xpu/verify_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_verify(
    const Int64* sampled_token_ids, Int64 sampled, Int64* accept_tokens, int* accept_num, Int64* step_idx,
    bool* stop_flags, const int* seq_lens_encoder, const Int64* draft_tokens, Int64 width,
    const int* seq_lens_this_time, const Int64* verify_tokens, const float* verify_scores,
    const int* actual_candidate_len, Int64 candidate_rows, Int64 candidates, const Int64* max_dec_len,
    const Int64* end_tokens, Int64 end_count, const bool* is_block_step, const int* cu_seqlens_q_output,
    const float* topp, const int* reasoning_status, const float* uniforms, Int64 verify_window, bool benchmark_mode,
    bool accept_all_drafts, bool use_topk, bool prefill_one_step_stop, Int64 bsz);

}  // namespace xpu

namespace {

void speculate_verify(Stream stream, Optional<Tensor<const int64_t, 1>> sampled_token_ids,
                      Tensor<int64_t, 2> accept_tokens, Tensor<int32_t, 1> accept_num, Tensor<int64_t, 1> step_idx,
                      Tensor<bool, 1> stop_flags, Tensor<const int32_t, 1> seq_lens_encoder,
                      Tensor<const int32_t, 1> seq_lens_decoder, Tensor<const int64_t, 2> draft_tokens,
                      Tensor<const int32_t, 1> seq_lens_this_time, Optional<Tensor<const int64_t, 2>> verify_tokens,
                      Optional<Tensor<const float, 2>> verify_scores, Tensor<const int64_t, 1> max_dec_len,
                      Tensor<const int64_t, 1> end_tokens, Tensor<const bool, 1> is_block_step,
                      Tensor<const int32_t, 1> cu_seqlens_q_output,
                      Optional<Tensor<const int32_t, 1>> actual_candidate_len,
                      Tensor<const int32_t, 1> actual_draft_token_nums, Tensor<const float, 1> topp,
                      Tensor<const int32_t, 1> reasoning_status, Optional<Tensor<const float, 1>> uniforms, int64_t,
                      int64_t verify_window, bool enable_topp, bool benchmark_mode, bool accept_all_drafts,
                      bool use_target_sampling, bool use_topk, bool prefill_one_step_stop) {
  const int64_t max_bsz = accept_tokens.shape[0], width = accept_tokens.shape[1];
  const int64_t bsz = seq_lens_this_time.shape[0];
  require_all_slots(max_bsz, bsz, draft_tokens, accept_num, step_idx, stop_flags, seq_lens_encoder, seq_lens_decoder,
                    max_dec_len, is_block_step, actual_draft_token_nums, topp, reasoning_status);
  draft_tokens.require(1, width, "columns of accept_tokens");
  cu_seqlens_q_output.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  require_window(verify_window);
  const bool draws = enable_topp && !use_target_sampling;
  if (use_target_sampling) {
    require_given("use_target_sampling", sampled_token_ids);
  } else {
    require_given("candidates", verify_tokens, actual_candidate_len);
    require_candidates(verify_tokens, actual_candidate_len);
  }
  if (draws) {
    require_given("enable_topp", verify_scores, uniforms);
    require_draws(verify_tokens, verify_scores, uniforms, bsz);
  }
  if (bsz == 0) return;
  check_launch("speculate_verify",
               xpu::speculate_verify<<<clusters(), cores(), stream>>>(
                   use_target_sampling ? device_data(sampled_token_ids) : nullptr, sampled_token_ids.shape[0],
                   device_data(accept_tokens), accept_num.data, device_data(step_idx), stop_flags.data,
                   seq_lens_encoder.data, device_data(draft_tokens), width, seq_lens_this_time.data,
                   device_data(verify_tokens), verify_scores.data, actual_candidate_len.data,
                   use_target_sampling ? 0 : verify_tokens.shape[0], verify_tokens.shape[1], device_data(max_dec_len),
                   device_data(end_tokens), end_tokens.shape[0], is_block_step.data, cu_seqlens_q_output.data,
                   topp.data, reasoning_status.data, draws ? uniforms.data : nullptr, verify_window, benchmark_mode,
                   accept_all_drafts, use_topk, prefill_one_step_stop, bsz));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_verify, opgold::speculate_verify)
