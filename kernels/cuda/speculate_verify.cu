// speculate_verify: the older verifying op, which also advances steps and stops slots.
#include "bindings/export.h"
#include "verify.cuh"

namespace opgold {
namespace {

struct Slots {
  int64_t* accept_tokens;
  int32_t* accept_num;
  int64_t* step_idx;
  bool* stop_flags;
  const int32_t* seq_lens_encoder;
  const int64_t* draft_tokens;
  int64_t width;
  const int32_t* seq_lens_this_time;
  const int64_t* max_dec_len;
  const bool* is_block_step;
  const int32_t* cu_seqlens_q_output;
  const float* topp;
  const int32_t* reasoning_status;
  const float* uniforms;  // null: not drawn
  int64_t bsz;
  bool benchmark_mode;
  bool accept_all_drafts;
  bool target_sampling;
  bool one_step_stop;
};

__global__ void __launch_bounds__(kVerifyThreads) verify_slots(Slots op, Verifier verifier, Endings endings) {
  const int64_t slot = blockIdx.x * int64_t(kSlotsPerBlock) + threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  if (slot >= op.bsz) return;
  const DraftRow row{op.draft_tokens + slot * op.width, op.width,          op.seq_lens_this_time[slot],
                     op.cu_seqlens_q_output[slot],      op.step_idx[slot], op.max_dec_len[slot]};
  const bool dead = op.stop_flags[slot] || op.is_block_step[slot];
  const bool none = op.benchmark_mode || op.seq_lens_encoder[slot] != 0 || op.reasoning_status[slot] == 1;
  const float mark = op.uniforms ? op.uniforms[slot] * op.topp[slot] : 0.0f;
  __syncwarp();  // every lane has read what the first one writes
  if (dead) return;
  if (row.tokens <= 0) {
    if (lane == 0) op.accept_num[slot] = 0;
    return;
  }
  const auto final = [&](int64_t packed) -> int64_t {
    if (op.target_sampling) return packed >= 0 && packed < verifier.target_rows ? verifier.targets[packed] : -1;
    if (op.uniforms) return verifier.candidates.draw(packed, mark, lane);
    return verifier.candidates.holds(packed) ? verifier.candidates.ids[packed * verifier.candidates.width] : -1;
  };
  const Accepting accepting = none ? Accepting::none : op.accept_all_drafts ? Accepting::all : Accepting::verified;
  const DraftRow::Emission emission =
      row.emit(verifier, endings, accepting, final, op.accept_tokens + slot * op.width, lane);
  if (lane == 0) {
    op.accept_num[slot] = static_cast<int32_t>(emission.length);
    op.step_idx[slot] = static_cast<int64_t>(uint64_t(row.step) + uint64_t(emission.length));
    if (emission.stopped || op.one_step_stop) op.stop_flags[slot] = true;
  }
}

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
  Verifier verifier{nullptr, 0, {}, verify_window, use_topk, false};
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
  if (bsz == 0) return;
  const Slots op{accept_tokens.data,
                 accept_num.data,
                 step_idx.data,
                 stop_flags.data,
                 seq_lens_encoder.data,
                 draft_tokens.data,
                 width,
                 seq_lens_this_time.data,
                 max_dec_len.data,
                 is_block_step.data,
                 cu_seqlens_q_output.data,
                 topp.data,
                 reasoning_status.data,
                 draws ? uniforms.data : nullptr,
                 bsz,
                 benchmark_mode,
                 accept_all_drafts,
                 use_target_sampling,
                 prefill_one_step_stop};
  const Endings endings{end_tokens.data, end_tokens.shape[0], false};
  verify_slots<<<blocks_of_slots(bsz), kVerifyThreads, 0, stream>>>(op, verifier, endings);
  check_launch("speculate_verify");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_verify, opgold::speculate_verify)
