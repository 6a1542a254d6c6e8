// speculate_set_value_by_flags_and_idx: this step's accepted tokens into the history, and counters of stopped slots.
#include "bindings/export.h"
#include "history.cuh"

namespace opgold {
namespace {

struct HistoryWrite {
  int64_t* token_ids_all;
  int64_t width;
  const int64_t* prompt_lens;
  const int64_t* accept_tokens;
  int64_t max_draft;
  int32_t* accept_num;
  const bool* stop_flags;
  const int32_t* seq_lens_encoder;
  int32_t* seq_lens_decoder;
  const int64_t* step_idx;
  int64_t bsz;
  int64_t history_layout;
};

// A warp does a slot.
__global__ void __launch_bounds__(kRowThreads) write_history(HistoryWrite op) {
  const int64_t slot = blockIdx.x * int64_t(kRowsPerBlock) + threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  if (slot >= op.bsz) return;
  const int64_t* const tokens = op.accept_tokens + slot * op.max_draft;
  int64_t token = lane < op.max_draft ? tokens[lane] : 0;  // asked for before it is known to be accepted
  const int64_t accepted = op.accept_num[slot], step = op.step_idx[slot], prompt = op.prompt_lens[slot];
  const int32_t encoder = op.seq_lens_encoder[slot], decoder = op.seq_lens_decoder[slot];
  if (op.stop_flags[slot]) {
    __syncwarp();  // every lane has read what lane 0 writes
    if (lane == 0) op.accept_num[slot] = op.seq_lens_decoder[slot] = 0;
    return;
  }
  if ((encoder == 0 && decoder == 0) || step <= 0) return;
  const int64_t first = wrapping_difference(wrapping_sum(step, op.history_layout), accepted);  // entry of column 0
  const int64_t count = accepted < op.max_draft ? accepted : op.max_draft;
  for (int64_t column = lane; column < count; column += kWarp) {
    if (column >= kWarp) token = tokens[column];
    const int64_t entry = wrapping_sum(first, column), target = wrapping_sum(prompt, entry);
    if (entry >= 0 && target >= 0 && target < op.width) op.token_ids_all[slot * op.width + target] = token;
  }
}

void speculate_set_value_by_flags_and_idx(Stream stream, Tensor<int64_t, 2> token_ids_all,
                                          Tensor<const int64_t, 1> prompt_lens, Tensor<const int64_t, 2> accept_tokens,
                                          Tensor<int32_t, 1> accept_num, Tensor<const bool, 1> stop_flags,
                                          Tensor<const int32_t, 1> seq_lens_this_time,
                                          Tensor<const int32_t, 1> seq_lens_encoder,
                                          Tensor<int32_t, 1> seq_lens_decoder, Tensor<const int64_t, 1> step_idx,
                                          int64_t history_layout) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  require_layout(history_layout);
  require_at_least(prompt_lens.shape[0], bsz);
  require_same_slots(prompt_lens.shape[0], token_ids_all, accept_tokens, accept_num, stop_flags, seq_lens_encoder,
                     seq_lens_decoder, step_idx);
  if (bsz == 0) return;
  const HistoryWrite op{token_ids_all.data, token_ids_all.shape[1], prompt_lens.data,      accept_tokens.data,
                        accept_tokens.shape[1], accept_num.data,    stop_flags.data,       seq_lens_encoder.data,
                        seq_lens_decoder.data, step_idx.data,       bsz,                   history_layout};
  write_history<<<blocks_of_rows(bsz), kRowThreads, 0, stream>>>(op);
  check_launch("speculate_set_value_by_flags_and_idx");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_set_value_by_flags_and_idx, opgold::speculate_set_value_by_flags_and_idx)
