// What the two verifying ops share: slots, verifiers, endings, and the kernel for rows of any length. A warp does a
// slot: a lane looks at a position of the draft row.
#pragma once

#include "bindings/device.h"

namespace opgold {

constexpr int kWarp = 32;
constexpr int kVerifyThreads = 128;
constexpr int kSlotsPerBlock = kVerifyThreads / kWarp;
constexpr unsigned kAllLanes = 0xffffffffu;

// The candidates of packed output rows, best first.
struct Candidates {
  const int64_t* ids;
  const float* scores;
  const int32_t* lens;
  int64_t rows;
  int64_t width;

  __device__ bool holds(int64_t row) const { return row >= 0 && row < rows && width > 0; }
  __device__ int64_t length(int64_t row) const {
    const int64_t given = lens[row];
    return given < 0 ? 0 : given < width ? given : width;
  }

  // The first candidate at which the float32 sum of scores, by rank, reaches `mark`; the first one if none does.
  // The whole warp takes part.
  __device__ int64_t draw(int64_t row, float mark, int lane) const {
    if (!holds(row)) return -1;
    const int64_t first = row * width, count = length(row);
    float sum = 0;
    for (int64_t base = 0; base < count; base += kWarp) {
      const int64_t rank = base + lane;
      const float score = rank < width ? scores[first + rank] : 0.0f;
      const int64_t id = rank < width ? ids[first + rank] : -1;
      const int listed = count - base < kWarp ? int(count - base) : kWarp;
      for (int k = 0; k < listed; ++k) {
        sum += __shfl_sync(kAllLanes, score, k);
        if (mark <= sum) return __shfl_sync(kAllLanes, id, k);
      }
    }
    return ids[first];
  }
};

// What verifies drafts: a target for each packed output row, or candidates.
struct Verifier {
  const int64_t* targets;  // null: candidates verify
  int64_t target_rows;
  Candidates candidates;
  int64_t window;
  bool first_only;  // only the first candidate counts

  struct Verdict {
    bool passes;  // by itself
    bool second;  // as second candidate, if a window follows
    bool first;   // as part of a window
  };

  __device__ Verdict verdict(int64_t row, int64_t draft) const {
    Verdict is{false, false, false};
    if (targets) {
      is.passes = row >= 0 && row < target_rows && targets[row] == draft;
    } else if (candidates.holds(row)) {
      const int64_t* ids = candidates.ids + row * candidates.width;
      const int64_t count = candidates.length(row);
      is.first = ids[0] == draft;
      if (first_only) return {is.first, false, false};
      is.second = candidates.width >= 2 && ids[1] == draft;
#pragma unroll 10
      for (int64_t rank = 0; rank < candidates.width; ++rank) is.passes |= rank < count && ids[rank] == draft;
    }
    return is;
  }

  // The token that follows when no draft of `row` passes. The whole warp takes part.
  __device__ int64_t next(int64_t row, bool drawn, float mark, int lane) const {
    if (targets) return row >= 0 && row < target_rows ? targets[row] : -1;
    if (drawn) return candidates.draw(row, mark, lane);
    return candidates.holds(row) ? candidates.ids[row * candidates.width] : -1;
  }
};

// Goes along the positions of a draft row, one after the other. The same in every lane.
struct Walk {
  int64_t window;
  bool resumes;
  int64_t accepted = 0;
  int64_t pending = 0;  // positions that a window still needs
  bool open = true;

  __device__ void pass(int64_t position, bool may_go_on) {
    accepted = position + 1;
    open = may_go_on;
  }
  __device__ void step(int64_t position, Verifier::Verdict is) {
    if (pending > 0) {
      if (!is.first) open = false;
      else if (--pending == 0) pass(position, resumes);
    } else if (is.passes) {
      pass(position, true);
    } else if (is.second) {
      if (window == 0) pass(position, resumes);
      pending = window;  // one that reaches past the last draft is never done, and nothing of it passes
    } else {
      open = false;
    }
  }
};

// What ends a slot: an end token, or the token that brings its step to the limit.
struct Endings {
  const int64_t* tokens;
  int64_t count;

  __device__ bool ends(int64_t token) const {
    bool found = false;
#pragma unroll 4
    for (int64_t i = 0; i < count; ++i) found |= tokens[i] == token;
    return found;
  }
  // Whether `step + emitted` has reached `limit`. Exact: both may be anything.
  __device__ static bool full(int64_t step, int64_t limit, int64_t emitted) {
    return limit <= step || uint64_t(limit) - uint64_t(step) <= uint64_t(emitted);
  }
};

// What an op knows of its slots, and where their tokens go.
struct Slots {
  const int64_t* drafts;  // `width` columns a slot, as in `output`
  int64_t* output;
  int64_t width;
  const int32_t* seq_lens_this_time;
  const int32_t* seq_lens_encoder;
  const int32_t* cu_seqlens_q_output;
  const int32_t* reasoning_status;
  const int64_t* step_idx;
  const int64_t* max_dec_len;
  const bool* stop_flags;
  const bool* is_block_step;
  const float* topp;
  const float* uniforms;  // null: not drawn
  int64_t bsz;
  bool reject_all;
  bool accept_all;
};

// What a slot emits.
struct Emission {
  int64_t length;
  bool live;   // neither stopped nor blocked
  bool ended;  // by an end token or the limit
};

enum class Accepting { none, all, verified };

// One slot's draft row.
struct DraftRow {
  const int64_t* input;
  int64_t width;
  int64_t tokens;  // n; drafts are columns 1 .. n-1
  int64_t first;   // of its packed output rows
  int64_t step;
  int64_t limit;

  // The whole warp takes part. Emits what `next(row)` gives behind the accepted drafts.
  template <class Outcome, class Next>
  __device__ Emission emit(const Verifier& verifier, const Endings& endings, Accepting accepting, Next next,
                           int64_t* output, int lane) const {
    const int64_t drafts = accepting == Accepting::none ? 0 : (tokens < width ? tokens : width) - 1;
    Walk walk{verifier.window, Outcome::kResumes};
    int64_t stop = INT64_MAX;  // the first draft at which emission stops
    for (int64_t base = 0; base < drafts && walk.open; base += kWarp) {
      const int64_t position = base + lane;
      Verifier::Verdict is{false, false, false};
      bool stops = false;
      if (position < drafts) {
        const int64_t draft = input[position + 1];
        is.passes = true;
        if (accepting == Accepting::verified) is = verifier.verdict(first + position, draft);
        stops = endings.ends(draft) || Endings::full(step, limit, position + 1);
      }
      const unsigned passing = __ballot_sync(kAllLanes, is.passes), second = __ballot_sync(kAllLanes, is.second);
      const unsigned first_ones = __ballot_sync(kAllLanes, is.first), stopping = __ballot_sync(kAllLanes, stops);
      if (stopping && stop == INT64_MAX) stop = base + __ffs(int(stopping)) - 1;
      for (int k = 0; k < kWarp && base + k < drafts && walk.open; ++k)
        walk.step(base + k, {bool(passing >> k & 1), bool(second >> k & 1), bool(first_ones >> k & 1)});
    }

    const bool among_drafts = stop < walk.accepted;
    const int64_t length = among_drafts ? stop + 1 : walk.accepted + 1;
    int64_t last = among_drafts ? input[length] : next(first + walk.accepted);
    const bool ends = endings.ends(last), full = Endings::full(step, limit, length);
    if (full && !(ends && Outcome::kKeepsEnd) && endings.count > 0) last = endings.tokens[0];
    for (int64_t position = lane; position < length && position < width; position += kWarp)
      output[position] = position == length - 1 ? last : input[position + 1];
    return {length, true, ends || full};
  }
};

// An `Outcome` is what parts the two ops. Its put(slot, emission, step) writes one of its `slots`. kResumes:
// verification goes on behind a window. kKeepsEnd: an end token at the limit stays what it is. kAdvances: put() writes
// state that is read here, and asks whether the slot has ended.
template <class Outcome>
__global__ void __launch_bounds__(kVerifyThreads)
    verify_slots(Slots op, Verifier verifier, Endings endings, Outcome outcome) {
  const int64_t slot = blockIdx.x * int64_t(kSlotsPerBlock) + threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  if (slot >= outcome.slots) return;
  Emission emission{0, false, false};
  int64_t step = 0;
  if (slot < op.bsz) {
    const DraftRow row{op.drafts + slot * op.width, op.width,          op.seq_lens_this_time[slot],
                       op.cu_seqlens_q_output[slot], op.step_idx[slot], op.max_dec_len[slot]};
    emission.live = !op.stop_flags[slot] && !op.is_block_step[slot];
    const bool none = op.reject_all || op.seq_lens_encoder[slot] != 0 || op.reasoning_status[slot] == 1;
    const float mark = op.uniforms ? op.uniforms[slot] * op.topp[slot] : 0.0f;
    const auto next = [&](int64_t packed) { return verifier.next(packed, op.uniforms != nullptr, mark, lane); };
    const Accepting accepting = none ? Accepting::none : op.accept_all ? Accepting::all : Accepting::verified;
    __syncwarp();  // every lane has read what the first one writes
    if (emission.live && row.tokens > 0)
      emission = row.emit<Outcome>(verifier, endings, accepting, next, op.output + slot * op.width, lane);
    step = row.step;
  }
  if (lane == 0) outcome.put(slot, emission, step);
}

}  // namespace opgold
