// draft_model_preprocess_shadow: the draft model's rows at the start of a round, all taken from the target model's.
//
// A warp does a slot. A block of its own derives the flag from inputs that no warp writes.
#include "accepted_rows.cuh"
#include "bindings/export.h"

namespace opgold {
namespace {

struct Shadow {
  AcceptedRows rows;
  bool* stop_flags;
  int32_t* seq_lens_this_time;
  int32_t* seq_lens_encoder;
  int32_t* seq_lens_decoder;
  int64_t* step_idx;
  bool* not_need_stop;
  const int32_t* accept_num;
  const int32_t* target_model_seq_lens_decoder;
  const int64_t* target_model_step_idx;
  const bool* target_model_stop_flags;
  const int64_t* max_dec_len;
  int64_t bsz;
  int32_t num_model_step;
  bool is_splitwise_prefill;

  // The sum of a step and num_model_step, which is at least 1, may pass int64: then it is past every limit.
  __device__ bool runs(bool stopped, int64_t step, int64_t limit) const {
    if (stopped) return false;
    return is_splitwise_prefill || (step <= INT64_MAX - num_model_step && step + num_model_step < limit);
  }

  __device__ void find_live() const {
    int live = 0;
    for (int64_t slot = threadIdx.x; slot < bsz; slot += kRowThreads) {
      const bool stopped = target_model_stop_flags[slot];
      const int64_t step = target_model_step_idx[slot], limit = max_dec_len[slot];
      live |= runs(stopped, step, limit);
    }
    live = __syncthreads_or(live);
    if (threadIdx.x == 0) not_need_stop[0] = live != 0;
  }

  // An encoder length is the only state that is read: every lane has it before lane 0 writes.
  __device__ void prepare(int64_t slot, int lane) const {
    const bool stopped = target_model_stop_flags[slot];
    const int64_t step = target_model_step_idx[slot], limit = max_dec_len[slot];
    const int32_t encoder = seq_lens_encoder[slot], accepted = accept_num[slot];
    const int32_t cached = target_model_seq_lens_decoder[slot];
    const int64_t token = rows.first(slot, lane);
    __syncwarp();

    const bool live = runs(stopped, step, limit);
    const bool prompt = encoder > 0;
    rows.clear_verified(slot, lane);
    if (live && !prompt) rows.copy(slot, lane, token, accepted, step);
    if (lane != 0) return;
    stop_flags[slot] = !live;
    if (!live) {
      seq_lens_this_time[slot] = 0;
      seq_lens_encoder[slot] = 0;
      seq_lens_decoder[slot] = 0;
      step_idx[slot] = 0;
    } else if (prompt) {
      rows.pre_ids.put(slot, 0, token);
      rows.input_ids.put(slot, int64_t(encoder) - 1, token);
      seq_lens_this_time[slot] = encoder;
      step_idx[slot] = wrapping_difference(step, int64_t(1));
    } else {
      seq_lens_this_time[slot] = accepted;
      seq_lens_decoder[slot] = wrapping_difference(cached, accepted);
      step_idx[slot] = wrapping_difference(step, int64_t(accepted));
    }
  }
};

__global__ void __launch_bounds__(kRowThreads) prepare_rows(Shadow op) {
  if (blockIdx.x == 0) {
    op.find_live();
    return;
  }
  const int64_t slot = (blockIdx.x - 1) * int64_t(kRowsPerBlock) + threadIdx.x / kWarp;
  if (slot < op.bsz) op.prepare(slot, threadIdx.x % kWarp);
}

void draft_model_preprocess_shadow(
    Stream stream, Tensor<int64_t, 2> draft_tokens, Tensor<int64_t, 2> input_ids, Tensor<bool, 1> stop_flags,
    Tensor<int32_t, 1> seq_lens_this_time, Tensor<int32_t, 1> seq_lens_encoder, Tensor<int32_t, 1> seq_lens_decoder,
    Tensor<int64_t, 1> step_idx, Tensor<bool, 1> not_need_stop, Tensor<int64_t, 2> pre_ids,
    Tensor<const int64_t, 2> accept_tokens, Tensor<const int32_t, 1> accept_num,
    Tensor<const int32_t, 1> target_model_seq_lens_encoder, Tensor<const int32_t, 1> target_model_seq_lens_decoder,
    Tensor<const int64_t, 1> target_model_step_idx, Tensor<const bool, 1> target_model_stop_flags,
    Tensor<const int64_t, 1> max_dec_len, Tensor<int64_t, 2> target_model_draft_tokens, int32_t num_model_step,
    bool is_splitwise_prefill) {
  const int64_t bsz = draft_tokens.shape[0];
  require_slots(bsz, input_ids, stop_flags, seq_lens_this_time, seq_lens_encoder, seq_lens_decoder, step_idx, pre_ids,
                accept_tokens, accept_num, target_model_seq_lens_encoder, target_model_seq_lens_decoder,
                target_model_step_idx, target_model_stop_flags, max_dec_len, target_model_draft_tokens);
  not_need_stop.require(0, 1, "one flag");
  if (num_model_step < 1) throw ArgumentError("num_model_step", "is ", num_model_step, ", expected at least 1");

  const Shadow op{{rows_of(accept_tokens), rows_of(draft_tokens), rows_of(input_ids), rows_of(pre_ids),
                   rows_of(target_model_draft_tokens)},
                  stop_flags.data,
                  seq_lens_this_time.data,
                  seq_lens_encoder.data,
                  seq_lens_decoder.data,
                  step_idx.data,
                  not_need_stop.data,
                  accept_num.data,
                  target_model_seq_lens_decoder.data,
                  target_model_step_idx.data,
                  target_model_stop_flags.data,
                  max_dec_len.data,
                  bsz,
                  num_model_step,
                  is_splitwise_prefill};
  prepare_rows<<<1 + blocks_of_rows(bsz), kRowThreads, 0, stream>>>(op);
  check_launch("draft_model_preprocess_shadow");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_preprocess_shadow, opgold::draft_model_preprocess_shadow)
