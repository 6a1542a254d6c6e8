// verify_draft_tokens: which drafts of each slot are accepted, and the token that follows them.
#include "bindings/export.h"
#include "verify_short.cuh"

namespace opgold {
namespace {

enum Strategy : int64_t { kTopP = 0, kGreedy = 1, kTargetMatch = 2 };

struct Outcome {
  static constexpr bool kResumes = true, kKeepsEnd = true, kAdvances = false;

  int64_t slots;
  int32_t* step_output_len;

  __device__ void put(int64_t slot, const Emission& emission, int64_t) const {
    step_output_len[slot] = static_cast<int32_t>(emission.length);
  }
};

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
  step_input_ids.require(0, max_bsz, "slots of step_output_ids");
  step_input_ids.require(1, width, "columns of step_output_ids");
  const auto per_slot = [&](auto&... tensors) { (tensors.require(0, max_bsz, "slots of step_output_ids"), ...); };
  per_slot(step_output_len, topp, stop_flags, seq_lens_encoder, is_block_step, reasoning_status, max_dec_len, step_idx);
  if (bsz > max_bsz) throw ArgumentError("seq_lens_this_time", "has ", bsz, " slots, expected at most ", max_bsz);
  cu_seqlens_q_output.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  if (verify_window < 0) throw ArgumentError("verify_window", verify_window, ", expected at least 0");
  if (verify_strategy < kTopP || verify_strategy > kTargetMatch)
    throw ArgumentError("verify_strategy", verify_strategy, ", expected 0, 1 or 2");

  const bool top_p = verify_strategy == kTopP;
  const auto needed = [](auto&... tensors) {
    ((tensors.given ? void() : throw ArgumentError(tensors.name, "required by verify_strategy")), ...);
  };
  Verifier verifier{nullptr, 0, {}, verify_window, false};
  if (top_p) {
    needed(candidate_ids, candidate_scores, candidate_lens, uniforms);
    const int64_t rows = candidate_ids.shape[0], candidates = candidate_ids.shape[1];
    candidate_scores.require(0, rows, "rows of candidate_ids");
    candidate_scores.require(1, candidates, "columns of candidate_ids");
    candidate_lens.require(0, rows, "rows of candidate_ids");
    uniforms.require(0, bsz, "slots of seq_lens_this_time");
    if (candidates < 1) throw ArgumentError("candidate_ids", "has 0 columns, expected at least 1");
    verifier.candidates = {candidate_ids.data, candidate_scores.data, candidate_lens.data, rows, candidates};
  } else {
    needed(target_tokens);
    verifier.targets = target_tokens.data;
    verifier.target_rows = target_tokens.shape[0];
  }
  const Slots op{step_input_ids.data,
                 step_output_ids.data,
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
                 top_p ? uniforms.data : nullptr,
                 bsz,
                 reject_all,
                 accept_all};
  const Endings endings{end_tokens.data, end_tokens.shape[0]};
  launch_verify(stream, "verify_draft_tokens", op, verifier, endings, Outcome{max_bsz, step_output_len.data});
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(verify_draft_tokens, opgold::verify_draft_tokens)
