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

// Rows of at most kLanes columns, few candidates and few end tokens. A lane does a position: it looks at its output row
// once, for the verdict on its draft and for the token that follows if that draft is the first that does not pass. So
// there are two steps of loads: what tells of a slot, then its output rows.
constexpr int kFewCandidates = 10;
constexpr int kFewLanes = 8;
constexpr int kShortThreads = 64;

template <int kLanes, bool kDraws>
__global__ void __launch_bounds__(kShortThreads) verify_short_slots(Slots op, Verifier verifier, Endings endings) {
  constexpr int kSlots = kShortThreads / kLanes;
  const int warp_lane = threadIdx.x % kWarp, lane = threadIdx.x % kLanes;
  const int64_t slot = blockIdx.x * int64_t(kSlots) + threadIdx.x / kLanes;
  const int64_t at = slot < op.bsz ? slot : op.bsz - 1;  // no lane leaves: all take part in what warps do
  const int width = int(op.width), ends = int(endings.count);
  const bool column = lane < width;

  const int64_t draft = op.step_input_ids[at * width + (lane + 1 < width ? lane + 1 : 0)];
  const int64_t end = endings.tokens[warp_lane < ends ? warp_lane : 0];
  const int64_t step = op.step_idx[at], limit = op.max_dec_len[at];
  float uniform = 0, topp = 0;
  if (kDraws) uniform = op.uniforms[at], topp = op.topp[at];
  const int32_t tokens = op.seq_lens_this_time[at], encoder = op.seq_lens_encoder[at];
  const int32_t reasoning = op.reasoning_status[at];
  const int32_t first_row = op.cu_seqlens_q_output[at];
  const bool stopped = op.stop_flags[at], blocked = op.is_block_step[at];
  __syncwarp();
  if (ends > kWarp) return;  // never: the compiler uses nothing loaded above before a barrier and a branch

  const int64_t row = int64_t(first_row) + lane;
  const int64_t rows = kDraws ? verifier.candidates.rows : verifier.target_rows;
  const bool held = column && row >= 0 && row < rows;
  const int64_t look = held ? row : 0;
  const int candidates = int(verifier.candidates.width);
  int64_t target = 0, ids[kFewCandidates];
  float scores[kFewCandidates];
  int32_t listed = 0;
  if (kDraws) {
    listed = verifier.candidates.lens[look];
#pragma unroll
    for (int rank = 0; rank < kFewCandidates; ++rank)
      ids[rank] = verifier.candidates.ids[look * candidates + (rank < candidates ? rank : 0)];
#pragma unroll
    for (int rank = 0; rank < kFewCandidates; ++rank)
      scores[rank] = verifier.candidates.scores[look * candidates + (rank < candidates ? rank : 0)];
  } else {
    target = verifier.targets[look];
  }
  __syncwarp();  // nor sinks these loads

  // What does not hang on the output rows, while they are on their way.
  const bool live = slot < op.bsz && !(stopped || blocked || tokens <= 0);
  const bool none = op.reject_all || encoder != 0 || reasoning == 1;
  const int drafts = !live || none ? 0 : (tokens < width ? tokens : width) - 1;
  const bool full = Endings::full(step, limit, lane + 1);
  bool stops = __shfl_sync(kAllLanes, end, 0) == draft || full;
  for (int i = 1; i < ends; ++i) stops |= __shfl_sync(kAllLanes, end, i) == draft;

  bool passes = false, second = false, first = false;
  int64_t next = -1;
  if (kDraws) {
    const int count = listed < candidates ? listed : candidates;
    const float mark = uniform * topp;
    float sum = 0;
    bool reached = false;
    next = ids[0];
#pragma unroll
    for (int rank = 0; rank < kFewCandidates; ++rank) {
      sum += scores[rank];
      passes |= rank < count && ids[rank] == draft;
      const bool reaches = !reached && rank < count && mark <= sum;
      next = reaches ? ids[rank] : next;
      reached |= reaches;
    }
    first = ids[0] == draft;
    second = candidates >= 2 && ids[1] == draft;
  } else {
    next = target;
    passes = target == draft;
  }
  if (!held) next = -1;

  const bool has_draft = lane < drafts;
  const unsigned own = kLanes == kWarp ? kAllLanes : (1u << kLanes % kWarp) - 1;
  const int shift = warp_lane - lane;
  const auto lanes = [&](bool is) { return __ballot_sync(kAllLanes, has_draft && is) >> shift & own; };
  const unsigned passing = lanes(op.accept_all || (held && passes)), stopping = lanes(stops);
  // The bit behind the last draft's is never set: a row has fewer drafts than lanes.
  int accepted = __ffs(int(~passing)) - 1;
  if (kDraws) {
    const unsigned seconds = lanes(held && second), firsts = lanes(held && first);
    while (accepted < drafts && (seconds >> accepted & 1) && verifier.window < drafts - accepted) {
      const int window = int(verifier.window);
      const unsigned wanted = (1u << window) - 1;
      if ((firsts >> accepted >> 1 & wanted) != wanted) break;
      accepted += window + 1;
      accepted += __ffs(int(~(passing >> accepted))) - 1;
    }
  }
  const int stop = stopping ? __ffs(int(stopping)) - 1 : kWarp;
  const int length = !live ? 0 : stop < accepted ? stop + 1 : accepted + 1;
  int64_t token = lane < accepted ? draft : next;
  if (full && lane == length - 1 && !(endings.kept && endings.ends(token))) token = endings.tokens[0];
  if (lane < length) op.step_output_ids[slot * width + lane] = token;
  if (lane == 0 && slot < op.max_bsz) op.step_output_len[slot] = length;
}

// Whether verify_short_slots can do them.
bool short_slots(const Slots& op, const Verifier& verifier, const Endings& endings) {
  const bool rows = op.uniforms ? verifier.candidates.rows > 0 && verifier.candidates.width <= kFewCandidates
                                : verifier.target_rows > 0;
  return rows && op.bsz > 0 && op.width > 0 && op.width <= kWarp && endings.count > 0 && endings.count <= kWarp;
}

template <int kLanes>
void launch_short(Stream stream, const Slots& op, const Verifier& verifier, const Endings& endings) {
  constexpr int kSlots = kShortThreads / kLanes;
  const unsigned blocks = static_cast<unsigned>((op.max_bsz + kSlots - 1) / kSlots);
  if (op.uniforms) verify_short_slots<kLanes, true><<<blocks, kShortThreads, 0, stream>>>(op, verifier, endings);
  else verify_short_slots<kLanes, false><<<blocks, kShortThreads, 0, stream>>>(op, verifier, endings);
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
  if (!short_slots(op, verifier, endings))
    verify_slots<<<blocks_of_slots(max_bsz), kVerifyThreads, 0, stream>>>(op, verifier, endings);
  else if (width <= kFewLanes) launch_short<kFewLanes>(stream, op, verifier, endings);
  else launch_short<kWarp>(stream, op, verifier, endings);
  check_launch("verify_draft_tokens");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(verify_draft_tokens, opgold::verify_draft_tokens)
