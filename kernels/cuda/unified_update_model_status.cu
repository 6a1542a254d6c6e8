// unified_update_model_status: every slot's state after a step's tokens are known.
//
// One block does all slots: the flag hangs on state that is written.
#include "bindings/export.h"
#include "slot_groups.cuh"

namespace opgold {
namespace {

constexpr int kEnds = 2;  // end tokens that are looked for at a time

// Where a row's tokens go, but for the last one, which its slot's lane writes: it may be another.
struct alignas(16) Taken {
  int64_t cell;   // of the history, for the first token
  int64_t count;  // tokens that have cells
};

struct Status {
  int32_t* seq_lens_encoder;
  int32_t* seq_lens_decoder;
  bool* has_running_seqs;
  Rows<int64_t> step_input_ids;
  Rows<int64_t> step_output_ids;
  int32_t* step_output_len;
  bool* stop_flags;
  int32_t* seq_lens_this_time;
  const bool* is_paused;
  Rows<int64_t> token_ids_all;
  const int64_t* prompt_lens;
  int64_t* step_idx;
  const int64_t* end_tokens;
  int64_t end_count;
  const int64_t* max_dec_len;
  int64_t bsz;
  int64_t slots;
  int64_t history_layout;
  uint32_t most;  // tokens of a row, as many as a length can say

  struct State {
    int32_t encoder, decoder, length;
    int64_t step, limit, prompt;
    bool stopped, paused;
  };

  // Nothing is done with a value here, so that none is waited for before all are asked for.
  __device__ State read(int64_t slot) const {
    return {seq_lens_encoder[slot], seq_lens_decoder[slot], step_output_len[slot], step_idx[slot],
            max_dec_len[slot],      prompt_lens[slot],      stop_flags[slot],      is_paused[slot]};
  }

  // Bit p: whether the lane's token of pass p is an end token.
  __device__ unsigned ends(const int64_t (&tokens)[kPasses]) const {
    unsigned found = 0;
#pragma unroll 1
    for (int64_t first = 0; first < end_count; first += kEnds) {
      int64_t end[kEnds];
#pragma unroll
      for (int k = 0; k < kEnds; ++k) end[k] = end_tokens[first + k < end_count ? first + k : end_count - 1];
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        bool same = false;
        for (int k = 0; k < kEnds; ++k) same |= tokens[pass] == end[k];
        found |= unsigned(same) << pass;
      }
    }
    return found;
  }

  // Of the lane's slot, which of its row's kRowLanes tokens are end tokens.
  __device__ static unsigned gathered(unsigned found, unsigned lane) {
    unsigned own = 0;
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const unsigned all = __ballot_sync(~0u, found >> pass & 1);
      if (lane / kRowsPerPass == pass) own = all;
    }
    return own >> lane % kRowsPerPass * kRowLanes & ((1u << kRowLanes) - 1);
  }

  // Index of the first token with which the step reaches `limit`; `none` if that lies behind all tokens.
  __device__ static uint32_t reaches(int64_t step, int64_t limit, uint32_t none) {
    if (limit <= step) return 0;
    const uint64_t before = uint64_t(limit) - uint64_t(step) - 1;
    return before < none ? uint32_t(before) : none;
  }

  // Whether the lane's slot runs on. `taken` is the warp's.
  __device__ bool update(const SlotGroup& group, Taken* taken) const {
    State state{};
    state.stopped = true;
    int64_t tokens[kPasses], end_token = 0;
    if (group.owns()) state = read(group.slot());
    group.load(step_output_ids, 0, tokens);
    if (end_count > 0) end_token = end_tokens[0];

    uint32_t first_end = most;
#pragma unroll 1
    for (uint32_t begin = 0; begin < most; begin += kRowLanes) {
      if (begin > 0) group.load(step_output_ids, begin, tokens);
      const unsigned found = gathered(ends(tokens), group.lane);
      const uint32_t index = begin + __ffs(int(found)) - 1;
      if (found != 0 && index < first_end) first_end = index;
    }
    __syncwarp();  // the last group's `taken` has been read
    Taken own{0, 0};
    bool runs_on = false;
    if (!state.stopped && !state.paused)
      own = advance(group.slot(), state, first_end, end_token, runs_on);
    else if (group.owns() && group.slot() < bsz)
      clear(group.slot());
    if (group.lane < kSlotsPerWarp) taken[group.lane] = own;
    __syncwarp();
#pragma unroll 1
    for (uint32_t begin = 0; begin < most; begin += kRowLanes) {
      if (most > kRowLanes) group.load(step_output_ids, begin, tokens);
      const uint32_t index = begin + group.column();
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        const Taken row = taken[group.place(pass)];
        if (index < uint32_t(row.count)) token_ids_all.data[row.cell + index] = tokens[pass];
      }
    }
    return runs_on;
  }

  // Writes the state of a slot that runs, and its last token.
  __device__ Taken advance(int64_t slot, const State& state, uint32_t first_end, int64_t end_token,
                           bool& runs_on) const {
    uint32_t count = state.length < 0 ? 0 : uint32_t(state.length) < most ? uint32_t(state.length) : most;
    const uint32_t full = reaches(state.step, state.limit, count);
    const uint32_t stop = first_end < full ? first_end : full;
    const bool stops = stop < count, replaces = stops && stop < first_end;
    if (stops) count = stop + 1;
    const uint32_t last = count - 1;
    int64_t* out = step_output_ids.row(slot);
    int64_t token = end_token;
    if (count > 0 && !replaces) token = out[last];
    if (state.encoder > 0) {
      seq_lens_decoder[slot] = wrapping_sum(state.decoder, state.encoder);
      seq_lens_encoder[slot] = 0;
    } else if (state.decoder > 0) {
      seq_lens_decoder[slot] = wrapping_sum(state.decoder, static_cast<int32_t>(count));
    }
    step_output_len[slot] = static_cast<int32_t>(count);
    step_idx[slot] = wrapping_sum(state.step, int64_t(count));
    if (stops) stop_flags[slot] = true;
    runs_on = !stops;
    if (count == 0) return {0, 0};

    const int64_t begin = wrapping_sum(wrapping_sum(state.prompt, state.step), history_layout);
    if (replaces) out[last] = token;
    step_input_ids.row(slot)[0] = token;
    if (!token_ids_all.holds(begin)) return {0, 0};
    const int64_t cell = slot * token_ids_all.width + begin, held = token_ids_all.width - begin;
    if (last < held) token_ids_all.data[cell + last] = token;
    return {cell, last < held ? last : held};
  }

  __device__ void clear(int64_t slot) const {
    stop_flags[slot] = true;
    seq_lens_encoder[slot] = 0;
    seq_lens_decoder[slot] = 0;
    seq_lens_this_time[slot] = 0;
    step_output_len[slot] = 0;
  }
};

__global__ void __launch_bounds__(kMostThreads) update_slots(Status op) {
  __shared__ Taken taken[kMostThreads];
  int runs_on = 0;
  for_each_group(op.slots, [&](const SlotGroup& group) {
    runs_on |= op.update(group, taken + threadIdx.x / kWarp * kWarp);
  });
  runs_on = __syncthreads_or(runs_on);
  if (threadIdx.x == 0) op.has_running_seqs[0] = runs_on != 0;
}

void unified_update_model_status(Stream stream, Tensor<int32_t, 1> seq_lens_encoder,
                                 Tensor<int32_t, 1> seq_lens_decoder, Tensor<bool, 1> has_running_seqs,
                                 Tensor<int64_t, 2> step_input_ids, Tensor<int64_t, 2> step_output_ids,
                                 Tensor<int32_t, 1> step_output_len, Tensor<bool, 1> stop_flags,
                                 Tensor<int32_t, 1> seq_lens_this_time, Tensor<const bool, 1> is_paused,
                                 Tensor<int64_t, 2> token_ids_all, Tensor<const int64_t, 1> prompt_lens,
                                 Tensor<int64_t, 1> step_idx, Tensor<const int64_t, 1> end_tokens,
                                 Tensor<const int64_t, 1> max_dec_len, int64_t history_layout) {
  const int64_t slots = stop_flags.shape[0], bsz = seq_lens_this_time.shape[0];
  require_all_slots(slots, bsz, seq_lens_encoder, seq_lens_decoder, step_input_ids, step_output_ids, step_output_len,
                    is_paused, token_ids_all, prompt_lens, step_idx, max_dec_len);
  has_running_seqs.require(0, 1, "one flag");
  step_input_ids.require(1, step_output_ids.shape[1], "columns of step_output_ids");
  if (history_layout != 0 && history_layout != 1)
    throw ArgumentError("history_layout", history_layout, ", expected 0 or 1");
  const Status op{seq_lens_encoder.data, seq_lens_decoder.data,    has_running_seqs.data, rows_of(step_input_ids),
                  rows_of(step_output_ids), step_output_len.data,  stop_flags.data,       seq_lens_this_time.data,
                  is_paused.data,        rows_of(token_ids_all),   prompt_lens.data,      step_idx.data,
                  end_tokens.data,       end_tokens.shape[0],      max_dec_len.data,      bsz,
                  slots,                 history_layout,
                  static_cast<uint32_t>(step_output_ids.shape[1] < INT32_MAX ? step_output_ids.shape[1] : INT32_MAX)};
  update_slots<<<1, threads_for_groups(slots), 0, stream>>>(op);
  check_launch("unified_update_model_status");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(unified_update_model_status, opgold::unified_update_model_status)
