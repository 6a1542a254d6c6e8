// speculate_verify: the older verifying op, which also advances steps and stops slots.
#include "bindings/export.h"
#include "verify_short.cuh"

namespace opgold {
namespace {

struct Outcome {
  static constexpr bool kResumes = false, kKeepsEnd = false, kAdvances = true;

  int64_t slots;
  int32_t* accept_num;
  int64_t* step_idx;
  bool* stop_flags;
  bool one_step_stop;

  __device__ void put(int64_t slot, const Emission& emission, int64_t step) const {
    if (!emission.live) return;
    accept_num[slot] = static_cast<int32_t>(emission.length);
    if (emission.length == 0) return;
    step_idx[slot] = static_cast<int64_t>(uint64_t(step) + uint64_t(emission.length));
    if (emission.ended || one_step_stop) stop_flags[slot] = true;
  }
};

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
  draft_tokens.require(0, max_bsz, "slots of accept_tokens");
  draft_tokens.require(1, width, "columns of accept_tokens");
  const auto per_slot = [&](auto&... tensors) { (tensors.require(0, max_bsz, "slots of accept_tokens"), ...); };
  per_slot(accept_num, step_idx, stop_flags, seq_lens_encoder, seq_lens_decoder, max_dec_len, is_block_step,
           actual_draft_token_nums, topp, reasoning_status);
  if (bsz > max_bsz) throw ArgumentError("seq_lens_this_time", "has ", bsz, " slots, expected at most ", max_bsz);
  cu_seqlens_q_output.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  if (verify_window < 0) throw ArgumentError("verify_window", verify_window, ", expected at least 0");

  const auto needed = [](auto&... tensors) {
    ((tensors.given ? void() : throw ArgumentError(tensors.name, "required in this mode")), ...);
  };
  const bool draws = enable_topp && !use_target_sampling;
  Verifier verifier{nullptr, 0, {}, verify_window, use_topk};
  if (use_target_sampling) {
    needed(sampled_token_ids);
    verifier.targets = sampled_token_ids.data;
    verifier.target_rows = sampled_token_ids.shape[0];
  } else {
    needed(verify_tokens, actual_candidate_len);
    const int64_t rows = verify_tokens.shape[0], candidates = verify_tokens.shape[1];
    actual_candidate_len.require(0, rows, "rows of verify_tokens");
    if (candidates < 1) throw ArgumentError("verify_tokens", "has 0 columns, expected at least 1");
    if (draws) {
      needed(verify_scores, uniforms);
      verify_scores.require(0, rows, "rows of verify_tokens");
      verify_scores.require(1, candidates, "columns of verify_tokens");
      uniforms.require(0, bsz, "slots of seq_lens_this_time");
    }
    verifier.candidates = {verify_tokens.data, verify_scores.data, actual_candidate_len.data, rows, candidates};
  }
  const Slots op{draft_tokens.data,
                 accept_tokens.data,
                 width,
                 seq_lens_this_time.data,
                 seq_lens_encoder.data,
                 cu_seqlens_q_output.data,
                 reasoning_status.data,
                 step_idx.data,
                 max_dec_len.data,
                 stop_flags.data,
                 is_block_step.data,
                 topp.data,
                 draws ? uniforms.data : nullptr,
                 bsz,
                 benchmark_mode,
                 accept_all_drafts};
  const Endings endings{end_tokens.data, end_tokens.shape[0]};
  const Outcome outcome{bsz, accept_num.data, step_idx.data, stop_flags.data, prefill_one_step_stop};
  launch_verify(stream, "speculate_verify", op, verifier, endings, outcome);
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_verify, opgold::speculate_verify)
