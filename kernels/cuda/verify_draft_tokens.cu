// verify_draft_tokens: which drafts of each slot are accepted, and the token that follows them.
#include "bindings/export.h"
#include "verify.cuh"

namespace opgold {
namespace {

enum Strategy : int64_t { kTopP = 0, kGreedy = 1, kTargetMatch = 2 };

struct Slots {
  int64_t* step_output_ids;
  int32_t* step_output_len;
  const int64_t* step_input_ids;
  int64_t width;
  const float* topp;
  const bool* stop_flags;
  const int32_t* seq_lens_encoder;
  const int32_t* seq_lens_this_time;
  const bool* is_block_step;
  const int32_t* cu_seqlens_q_output;
  const int32_t* reasoning_status;
  const int64_t* max_dec_len;
  const int64_t* step_idx;
  const float* uniforms;  // null: not drawn
  int64_t bsz;
  int64_t max_bsz;
  bool reject_all;
  bool accept_all;
};

__global__ void __launch_bounds__(kVerifyThreads) verify_slots(Slots op, Verifier verifier, Endings endings) {
  const int64_t slot = blockIdx.x * int64_t(kSlotsPerBlock) + threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  if (slot >= op.max_bsz) return;
  int64_t length = 0;
  if (slot < op.bsz) {
    const DraftRow row{op.step_input_ids + slot * op.width, op.width,          op.seq_lens_this_time[slot],
                       op.cu_seqlens_q_output[slot],        op.step_idx[slot], op.max_dec_len[slot]};
    const bool idle = op.stop_flags[slot] || op.is_block_step[slot] || row.tokens <= 0;
    const bool none = op.reject_all || op.seq_lens_encoder[slot] != 0 || op.reasoning_status[slot] == 1;
    const float mark = op.uniforms ? op.uniforms[slot] * op.topp[slot] : 0.0f;
    const auto final = [&](int64_t packed) -> int64_t {
      if (op.uniforms) return verifier.candidates.draw(packed, mark, lane);
      return packed >= 0 && packed < verifier.target_rows ? verifier.targets[packed] : -1;
    };
    if (!idle) {
      const Accepting accepting = none ? Accepting::none : op.accept_all ? Accepting::all : Accepting::verified;
      length = row.emit(verifier, endings, accepting, final, op.step_output_ids + slot * op.width, lane).length;
    }
  }
  if (lane == 0) op.step_output_len[slot] = static_cast<int32_t>(length);
}

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
  Verifier verifier{nullptr, 0, {}, verify_window, false, true};
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
  if (max_bsz == 0) return;
  const Slots op{step_output_ids.data,
                 step_output_len.data,
                 step_input_ids.data,
                 width,
                 topp.data,
                 stop_flags.data,
                 seq_lens_encoder.data,
                 seq_lens_this_time.data,
                 is_block_step.data,
                 cu_seqlens_q_output.data,
                 reasoning_status.data,
                 max_dec_len.data,
                 step_idx.data,
                 top_p ? uniforms.data : nullptr,
                 bsz,
                 max_bsz,
                 reject_all,
                 accept_all};
  const Endings endings{end_tokens.data, end_tokens.shape[0], true};
  verify_slots<<<blocks_of_slots(max_bsz), kVerifyThreads, 0, stream>>>(op, verifier, endings);
  check_launch("verify_draft_tokens");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(verify_draft_tokens, opgold::verify_draft_tokens)
