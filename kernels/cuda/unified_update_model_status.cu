// unified_update_model_status: every slot's state after a step's tokens are known.
//
// A group of threads does a slot, and one block all of them: the flag hangs on state that is written.
#include "bindings/export.h"
#include "slot_groups.cuh"

namespace opgold {
namespace {

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

  __device__ bool ends(int64_t token, int64_t end_token) const {
    bool found = end_count > 0 && token == end_token;
    for (int64_t i = 1; i < end_count; ++i) found |= end_tokens[i] == token;
    return found;
  }

  // Index of the first token with which the step reaches `limit`; `none` if that lies behind all tokens.
  __device__ static int64_t reaches(int64_t step, int64_t limit, int64_t none) {
    if (limit <= step) return 0;
    const uint64_t before = uint64_t(limit) - uint64_t(step) - 1;
    return before < uint64_t(none) ? int64_t(before) : none;
  }

  // Whether the slot runs on. All state is asked for at once, and each lane has it before any is written.
  __device__ bool update(int64_t slot, int lane, int lanes) const {
    const bool held = slot < slots;
    const int64_t width = held ? step_output_ids.width : 0;
    bool running = false;
    int32_t encoder = 0, decoder = 0;
    int64_t tokens = 0, step = 0, limit = 0, prompt = 0;
    const int64_t end_token = end_count > 0 ? end_tokens[0] : 0;
    if (held) {
      const bool stopped = stop_flags[slot], paused = is_paused[slot];
      encoder = seq_lens_encoder[slot];
      decoder = seq_lens_decoder[slot];
      tokens = step_output_len[slot];
      step = step_idx[slot];
      limit = max_dec_len[slot];
      prompt = prompt_lens[slot];
      running = !stopped && !paused;
    }
    int64_t* out = step_output_ids.row(slot);
    int64_t first_end = width;
    for (int64_t i = lane; i < width; i += lanes)
      if (ends(out[i], end_token) && i < first_end) first_end = i;
    for (int apart = lanes / 2; apart > 0; apart /= 2) {
      const int64_t other = __shfl_xor_sync(~0u, first_end, apart);
      if (other < first_end) first_end = other;
    }
    __syncwarp();
    if (!held) return false;
    if (!running) {
      if (lane == 0 && slot < bsz) clear(slot);
      return false;
    }

    tokens = tokens < 0 ? 0 : tokens < width ? tokens : width;
    const int64_t full = reaches(step, limit, tokens);
    const int64_t last = first_end < full ? first_end : full;
    const bool stops = last < tokens;
    if (stops) tokens = last + 1;
    const int64_t begin = wrapping_sum(wrapping_sum(prompt, step), history_layout);
    for (int64_t i = lane; i < tokens; i += lanes) {
      int64_t token = out[i];
      if (stops && i == last && last < first_end) out[i] = token = end_token;
      token_ids_all.put(slot, wrapping_sum(begin, i), token);
      if (i == tokens - 1) step_input_ids.row(slot)[0] = token;
    }
    if (lane == 0) {
      if (encoder > 0) {
        seq_lens_decoder[slot] = wrapping_sum(decoder, encoder);
        seq_lens_encoder[slot] = 0;
      } else if (decoder > 0) {
        seq_lens_decoder[slot] = wrapping_sum(decoder, static_cast<int32_t>(tokens));
      }
      step_output_len[slot] = static_cast<int32_t>(tokens);
      step_idx[slot] = wrapping_sum(step, tokens);
      if (stops) stop_flags[slot] = true;
    }
    return !stops;
  }

  __device__ void clear(int64_t slot) const {
    stop_flags[slot] = true;
    seq_lens_encoder[slot] = 0;
    seq_lens_decoder[slot] = 0;
    seq_lens_this_time[slot] = 0;
    step_output_len[slot] = 0;
  }
};

__global__ void __launch_bounds__(kMostThreads) update_slots(Status op, SlotGroups groups) {
  int runs_on = 0;
  groups.for_each_slot(op.slots, [&](int64_t slot, int lane) { runs_on |= op.update(slot, lane, groups.lanes); });
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
                  slots,                 history_layout};
  const SlotGroups groups = SlotGroups::of(slots, step_output_ids.shape[1]);
  update_slots<<<1, groups.threads, 0, stream>>>(op, groups);
  check_launch("unified_update_model_status");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(unified_update_model_status, opgold::unified_update_model_status)
