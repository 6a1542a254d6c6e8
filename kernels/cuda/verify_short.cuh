// Verification of short draft rows with few candidates and few end tokens; other batches take the kernel for any.
//
// kLanes lanes do a slot, one a position: it looks at its output row once, for the verdict on its draft and for the
// token that follows if that draft is the first that does not pass. So there are two steps of loads: what tells of a
// slot, then its output rows.
#pragma once

#include "verify.cuh"

namespace opgold {

constexpr int kFewCandidates = 10;
constexpr int kFewLanes = 8;
constexpr int kShortThreads = 64;

enum class By { sampled, listed, drawn };  // what verifies drafts, and gives the token behind them

template <int kLanes, By kBy, class Outcome>
__global__ void __launch_bounds__(kShortThreads)
    verify_short_slots(Slots op, Verifier verifier, Endings endings, Outcome outcome) {
  constexpr int kSlots = kShortThreads / kLanes;
  constexpr bool kLists = kBy != By::sampled, kDraws = kBy == By::drawn;
  const int warp_lane = threadIdx.x % kWarp, lane = threadIdx.x % kLanes;
  const int64_t slot = blockIdx.x * int64_t(kSlots) + threadIdx.x / kLanes;
  // A warp without slots would read what another writes. In others no lane leaves: all take part in what warps do.
  if (Outcome::kAdvances && slot - warp_lane / kLanes >= op.bsz) return;
  const int64_t at = slot < op.bsz ? slot : op.bsz - 1;
  const int width = int(op.width), ends = int(endings.count);

  const int64_t draft = op.drafts[at * width + (lane + 1 < width ? lane + 1 : 0)];
  const int64_t end = endings.tokens[warp_lane < ends ? warp_lane : 0];
  const int64_t step = op.step_idx[at], limit = op.max_dec_len[at];
  float uniform = 0, topp = 0;
  if (kDraws) uniform = op.uniforms[at], topp = op.topp[at];
  const int32_t tokens = op.seq_lens_this_time[at], encoder = op.seq_lens_encoder[at];
  const int32_t reasoning = op.reasoning_status[at];
  const int32_t first_row = op.cu_seqlens_q_output[at];
  const bool stopped = op.stop_flags[at], blocked = op.is_block_step[at];
  __syncwarp();  // every lane has read what the first one writes
  if (ends > kWarp) return;  // never: the compiler uses nothing loaded above before a barrier and a branch

  const int64_t row = int64_t(first_row) + lane;
  const int64_t rows = kLists ? verifier.candidates.rows : verifier.target_rows;
  const bool held = lane < width && row >= 0 && row < rows;
  const int64_t look = held ? row : 0;
  const int candidates = int(verifier.candidates.width);
  int64_t target = 0, ids[kFewCandidates];
  float scores[kFewCandidates];
  int32_t listed = 0;
  if (kLists) {
    listed = verifier.candidates.lens[look];
#pragma unroll
    for (int rank = 0; rank < kFewCandidates; ++rank)
      ids[rank] = verifier.candidates.ids[look * candidates + (rank < candidates ? rank : 0)];
#pragma unroll
    for (int rank = 0; rank < kFewCandidates; ++rank)
      scores[rank] = kDraws ? verifier.candidates.scores[look * candidates + (rank < candidates ? rank : 0)] : 0.0f;
  } else {
    target = verifier.targets[look];
  }
  __syncwarp();  // nor sinks these loads

  // What does not hang on the output rows, while they are on their way.
  const bool live = slot < op.bsz && !stopped && !blocked;
  const bool none = op.reject_all || encoder != 0 || reasoning == 1;
  const int drafts = !live || none || tokens <= 0 ? 0 : (tokens < width ? tokens : width) - 1;
  const bool full = Endings::full(step, limit, lane + 1);
  const int64_t first_end = __shfl_sync(kAllLanes, end, 0);
  bool stops = first_end == draft || full;
  for (int i = 1; i < ends; ++i) stops |= __shfl_sync(kAllLanes, end, i) == draft;

  bool passes = false, second = false, first = false;
  int64_t next = target;
  if (kLists) {
    const int count = listed < candidates ? listed : candidates;
    const float mark = uniform * topp;
    float sum = 0;
    bool reached = !kDraws;
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
    second = !verifier.first_only && candidates >= 2 && ids[1] == draft;
    if (verifier.first_only) passes = first;
  } else {
    passes = target == draft;
  }
  if (!held) next = -1;

  const bool has_draft = lane < drafts;
  const unsigned own = kLanes == kWarp ? kAllLanes : (1u << kLanes % kWarp) - 1;
  const auto lanes = [&](bool is) { return __ballot_sync(kAllLanes, is) >> (warp_lane - lane) & own; };
  const unsigned passing = lanes(has_draft && (op.accept_all || (held && passes)));
  const unsigned stopping = lanes(has_draft && stops);
  // The bit behind the last draft's is never set: a row has fewer drafts than lanes.
  int accepted = __ffs(int(~passing)) - 1;
  if (kLists) {
    const unsigned seconds = lanes(has_draft && held && second), firsts = lanes(has_draft && held && first);
    while (accepted < drafts && (seconds >> accepted & 1) && verifier.window < drafts - accepted) {
      const int window = int(verifier.window);
      const unsigned wanted = (1u << window) - 1;
      if ((firsts >> accepted >> 1 & wanted) != wanted) break;
      accepted += window + 1;
      if (!Outcome::kResumes) break;
      accepted += __ffs(int(~(passing >> accepted))) - 1;
    }
  }
  const int stop = stopping ? __ffs(int(stopping)) - 1 : kWarp;
  const bool among_drafts = stop < accepted;
  const int length = !live || tokens <= 0 ? 0 : among_drafts ? stop + 1 : accepted + 1;
  int64_t token = lane < accepted ? draft : next;
  bool ended = among_drafts;
  if (Outcome::kAdvances) {
    bool ends_next = first_end == next || full;
    for (int i = 1; i < ends; ++i) ends_next |= __shfl_sync(kAllLanes, end, i) == next;
    ended |= lanes(ends_next) >> accepted & 1;
  }
  if (full && lane == length - 1 && !(Outcome::kKeepsEnd && endings.ends(token))) token = first_end;
  if (lane < length) op.output[slot * width + lane] = token;
  if (lane == 0 && slot < outcome.slots) outcome.put(slot, {length, live, ended}, step);
}

// Whether verify_short_slots can do them.
inline bool short_slots(const Slots& op, const Verifier& verifier, const Endings& endings) {
  const bool rows = verifier.targets ? verifier.target_rows > 0
                                     : verifier.candidates.rows > 0 && verifier.candidates.width <= kFewCandidates;
  return rows && op.bsz > 0 && op.width > 0 && op.width <= kWarp && endings.count > 0 && endings.count <= kWarp;
}

template <int kLanes, class Outcome>
void launch_short(Stream stream, const Slots& op, const Verifier& verifier, const Endings& endings,
                  const Outcome& outcome) {
  constexpr int kSlots = kShortThreads / kLanes;
  const unsigned blocks = static_cast<unsigned>((outcome.slots + kSlots - 1) / kSlots);
  const auto launch = [&](auto kernel) {
    kernel<<<blocks, kShortThreads, 0, stream>>>(op, verifier, endings, outcome);
  };
  if (verifier.targets) launch(verify_short_slots<kLanes, By::sampled, Outcome>);
  else if (op.uniforms) launch(verify_short_slots<kLanes, By::drawn, Outcome>);
  else launch(verify_short_slots<kLanes, By::listed, Outcome>);
}

template <class Outcome>
void launch_verify(Stream stream, const char* name, const Slots& op, const Verifier& verifier, const Endings& endings,
                   const Outcome& outcome) {
  if (outcome.slots == 0) return;
  const unsigned blocks = static_cast<unsigned>((outcome.slots + kSlotsPerBlock - 1) / kSlotsPerBlock);
  if (!short_slots(op, verifier, endings))
    verify_slots<<<blocks, kVerifyThreads, 0, stream>>>(op, verifier, endings, outcome);
  else if (op.width <= kFewLanes) launch_short<kFewLanes>(stream, op, verifier, endings, outcome);
  else launch_short<kWarp>(stream, op, verifier, endings, outcome);
  check_launch(name);
}

}  // namespace opgold
