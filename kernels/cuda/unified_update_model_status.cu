// unified_update_model_status: every slot's state after a step's tokens are known.
//
// kLanes lanes do a slot. Each works out its whole state, so that nothing is handed on; the first one writes it.
#include "bindings/export.h"
#include "cluster_votes.cuh"
#include "end_tokens.cuh"
#include "slot_buffers.cuh"

namespace opgold {
namespace {

constexpr ClusterShape kCluster{8, 128};
constexpr int kLanes = 4;
constexpr int kTokens = 2;  // of a row, that a lane takes at a time
constexpr int kPart = kLanes * kTokens;

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
  const int64_t* end_ids;
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

  // The lane's tokens of the kPart from column `begin` on: every kLanes-th. 0 where there is none.
  __device__ void load(const int64_t* row, uint32_t begin, bool there, int64_t (&tokens)[kTokens]) const {
#pragma unroll
    for (int k = 0; k < kTokens; ++k) {
      const uint32_t column = begin + k * kLanes + threadIdx.x % kLanes;
      tokens[k] = there && column < most ? row[column] : 0;
    }
  }

  // Which of the slot's kPart tokens are end tokens, a bit each. The whole warp takes part.
  __device__ static unsigned ends(const EndTokens& end_tokens, const int64_t (&tokens)[kTokens]) {
    const unsigned first_lane = threadIdx.x % kWarp / kLanes * kLanes;
    unsigned found = 0;
#pragma unroll
    for (int k = 0; k < kTokens; ++k) {
      const unsigned lanes = __ballot_sync(~0u, end_tokens.has(tokens[k])) >> first_lane & ((1u << kLanes) - 1);
      found |= lanes << (k * kLanes);
    }
    return found;
  }

  // Index of the first token with which the step reaches `limit`; `none` if that lies behind all tokens.
  __device__ static uint32_t reaches(int64_t step, int64_t limit, uint32_t none) {
    if (limit <= step) return 0;
    const uint64_t before = uint64_t(limit) - uint64_t(step) - 1;
    return before < none ? uint32_t(before) : none;
  }

  // Whether the slot, if it is `there`, runs on. The whole warp takes part.
  __device__ bool update(int64_t slot, bool there) const {
    const bool writes = there && threadIdx.x % kLanes == 0;
    int64_t* const row = step_output_ids.row(slot);
    State state{};
    state.stopped = true;
    int64_t tokens[kTokens];
    const EndTokens end_tokens(end_ids, end_count);
    if (there) state = read(slot);
    load(row, 0, there, tokens);

    uint32_t first_end = most;
#pragma unroll 1
    for (uint32_t begin = 0; begin < most; begin += kPart) {
      if (begin > 0) load(row, begin, there, tokens);
      const unsigned found = ends(end_tokens, tokens);
      const uint32_t index = begin + __ffs(int(found)) - 1;
      if (found != 0 && index < first_end) first_end = index;
    }
    __syncwarp();  // all lanes have read what the first one writes
    if (state.stopped || state.paused) {
      if (writes && slot < bsz) clear(slot);
      return false;
    }

    uint32_t count = state.length < 0 ? 0 : uint32_t(state.length) < most ? uint32_t(state.length) : most;
    const uint32_t full = reaches(state.step, state.limit, count);
    const uint32_t stop = first_end < full ? first_end : full;
    const bool stops = stop < count, replaces = stops && stop < first_end;
    if (stops) count = stop + 1;
    const int64_t first = wrapping_sum(wrapping_sum(state.prompt, state.step), history_layout);
    const int64_t cells = token_ids_all.holds(first) ? token_ids_all.width - first : 0;
    int64_t* const history = token_ids_all.row(slot) + (cells > 0 ? first : 0);
#pragma unroll 1
    for (uint32_t begin = 0; begin < count; begin += kPart) {
      if (most > kPart) load(row, begin, there, tokens);
#pragma unroll
      for (int k = 0; k < kTokens; ++k) {
        const uint32_t index = begin + k * kLanes + threadIdx.x % kLanes;
        const bool last = index + 1 == count;
        const int64_t token = last && replaces ? end_tokens.first(0) : tokens[k];
        if (index < count && index < cells) history[index] = token;
        if (last) step_input_ids.row(slot)[0] = token;
        if (last && replaces) row[index] = token;
      }
    }
    if (writes) advance(slot, state, count, stops);
    return !stops;
  }

  __device__ void advance(int64_t slot, const State& state, uint32_t count, bool stops) const {
    if (state.encoder > 0) {
      seq_lens_decoder[slot] = wrapping_sum(state.decoder, state.encoder);
      seq_lens_encoder[slot] = 0;
    } else if (state.decoder > 0) {
      seq_lens_decoder[slot] = wrapping_sum(state.decoder, static_cast<int32_t>(count));
    }
    step_output_len[slot] = static_cast<int32_t>(count);
    step_idx[slot] = wrapping_sum(state.step, int64_t(count));
    if (stops) stop_flags[slot] = true;
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
  __shared__ ClusterVotes votes;
  votes.open();
  bool runs_on = false;
  const int64_t own = cluster_thread() / kLanes;
#pragma unroll 1
  for (int64_t round = 0; round < op.slots; round += cluster_threads() / kLanes)
    runs_on |= op.update(round + own, round + own < op.slots);
  runs_on = votes.any(runs_on);
  if (cluster_thread() == 0) op.has_running_seqs[0] = runs_on;
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
  launch_cluster(kCluster, stream, slots * kLanes, update_slots, op);
  check_launch("unified_update_model_status");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(unified_update_model_status, opgold::unified_update_model_status)
