// draft_model_preprocess: the draft model's rows at the start of a round, with the rollback of self-fed tokens.
//
// A warp does a slot. A block of its own derives the flag from what no warp writes: whether a base row stopped and,
// where it did not, whether the row is dropped. On a prefill instance it hangs on the encoder lengths, which are
// written, so one block does all slots.
#include "accepted_rows.cuh"
#include "bindings/export.h"

namespace opgold {
namespace {

struct Preprocess {
  AcceptedRows rows;
  bool* stop_flags;
  int32_t* seq_lens_this_time;
  int32_t* seq_lens_encoder;
  int32_t* seq_lens_decoder;
  int64_t* step_idx;
  bool* not_need_stop;
  bool* is_block_step;
  bool* batch_drop;
  int32_t* mask_rollback;
  int32_t* recompute_token_num;
  const int32_t* accept_num;
  const int32_t* base_model_seq_lens_this_time;
  const int32_t* base_model_seq_lens_decoder;
  const int64_t* base_model_step_idx;
  const bool* base_model_stop_flags;
  const bool* base_model_is_block_step;
  int64_t bsz;
  int32_t num_model_step;
  bool truncate_first_token;
  bool kvcache_scheduler_v1;

  // All of a row's state, asked for at once. Every lane has its own copy before lane 0 writes.
  struct Row {
    bool stopped, blocked, dropped, base_stopped, base_blocked;
    int32_t encoder, decoder, rollback, recompute, accepted, base_this_time, base_decoder;
    int64_t step, base_step, token;
  };

  __device__ Row read(int64_t slot, int lane) const {
    Row row;
    row.stopped = stop_flags[slot];
    row.blocked = is_block_step[slot];
    row.dropped = batch_drop[slot];
    row.base_stopped = base_model_stop_flags[slot];
    row.base_blocked = base_model_is_block_step[slot];
    row.encoder = seq_lens_encoder[slot];
    row.decoder = seq_lens_decoder[slot];
    row.rollback = mask_rollback[slot];
    row.recompute = recompute_token_num[slot];
    row.accepted = accept_num[slot];
    row.base_this_time = base_model_seq_lens_this_time[slot];
    row.base_decoder = base_model_seq_lens_decoder[slot];
    row.step = step_idx[slot];
    row.base_step = base_model_step_idx[slot];
    row.token = rows.first(slot, lane);
    return row;
  }

  __device__ void stop(int64_t slot) const {
    stop_flags[slot] = true;
    seq_lens_this_time[slot] = 0;
    seq_lens_encoder[slot] = 0;
    seq_lens_decoder[slot] = 0;
  }

  __device__ void run_prompt(int64_t slot, int32_t encoder, int64_t token) const {
    const int32_t end = truncate_first_token ? encoder : wrapping_sum(encoder, 1);
    stop_flags[slot] = false;
    rows.input_ids.put(slot, int64_t(end) - 1, token);
    seq_lens_this_time[slot] = end;
  }

  __device__ void run_accepted(int64_t slot, const Row& row) const {
    const int32_t drafted = row.base_this_time > 2 ? row.base_this_time - 2 : 0;
    const int32_t self_fed = row.recompute < drafted ? row.recompute : drafted;
    if (row.stopped) {
      seq_lens_decoder[slot] = wrapping_difference(row.base_decoder, row.accepted);
      step_idx[slot] = wrapping_difference(row.base_step, int64_t(row.accepted));
    } else {
      seq_lens_decoder[slot] = wrapping_difference(row.decoder, self_fed);
      step_idx[slot] = wrapping_difference(row.step, int64_t(self_fed));
    }
    stop_flags[slot] = false;
    seq_lens_this_time[slot] = row.accepted;
    mask_rollback[slot] = wrapping_sum(row.rollback, self_fed);
    recompute_token_num[slot] = num_model_step - 1;
    if (kvcache_scheduler_v1 && row.blocked && !row.base_blocked) is_block_step[slot] = false;
  }

  // The flag block. `batch_drop` is read only where no warp writes it.
  __device__ void find_live() const {
    int live = 0;
    for (int64_t slot = threadIdx.x; slot < bsz; slot += kRowThreads)
      live |= !base_model_stop_flags[slot] && !batch_drop[slot];
    live = __syncthreads_or(live);
    if (threadIdx.x == 0) not_need_stop[0] = live != 0;
  }
};

__global__ void __launch_bounds__(kRowThreads) prepare_rows(Preprocess op) {
  if (blockIdx.x == 0) {
    op.find_live();
    return;
  }
  const int64_t slot = (blockIdx.x - 1) * int64_t(kRowsPerBlock) + threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  if (slot >= op.bsz) return;
  const Preprocess::Row row = op.read(slot, lane);
  __syncwarp();

  op.rows.clear_verified(slot, lane);
  const bool live = !row.base_stopped && !row.dropped;
  const bool prompt = row.encoder > 0;
  if (live && !prompt) op.rows.copy(slot, lane, row.token, row.accepted, row.base_step);
  if (lane != 0) return;
  if (row.base_stopped && row.base_blocked) (op.kvcache_scheduler_v1 ? op.is_block_step : op.batch_drop)[slot] = true;
  if (!live) {
    op.stop(slot);
  } else if (prompt) {
    op.rows.pre_ids.put(slot, 0, row.token);
    op.run_prompt(slot, row.encoder, row.token);
  } else {
    op.run_accepted(slot, row);
  }
}

__global__ void __launch_bounds__(kMostThreads) prepare_prompts(Preprocess op) {
  int live = 0;
  for (int64_t slot = threadIdx.x; slot < op.bsz; slot += blockDim.x) {
    const int32_t encoder = op.seq_lens_encoder[slot];
    const int64_t token = op.rows.first(slot, 0);
    if (encoder > 0) {
      live = 1;
      op.run_prompt(slot, encoder, token);
    } else {
      op.stop(slot);
    }
  }
  live = __syncthreads_or(live);
  if (threadIdx.x == 0) op.not_need_stop[0] = live != 0;
}

void draft_model_preprocess(
    Stream stream, Tensor<int64_t, 2> draft_tokens, Tensor<int64_t, 2> input_ids, Tensor<bool, 1> stop_flags,
    Tensor<int32_t, 1> seq_lens_this_time, Tensor<int32_t, 1> seq_lens_encoder, Tensor<int32_t, 1> seq_lens_decoder,
    Tensor<int64_t, 1> step_idx, Tensor<bool, 1> not_need_stop, Tensor<bool, 1> is_block_step,
    Tensor<bool, 1> batch_drop, Tensor<int64_t, 2> pre_ids, Tensor<int32_t, 1> mask_rollback,
    Tensor<int32_t, 1> recompute_token_num, Tensor<const int64_t, 2> accept_tokens, Tensor<const int32_t, 1> accept_num,
    Tensor<const int32_t, 1> base_model_seq_lens_this_time, Tensor<const int32_t, 1> base_model_seq_lens_encoder,
    Tensor<const int32_t, 1> base_model_seq_lens_decoder, Tensor<const int64_t, 1> base_model_step_idx,
    Tensor<const bool, 1> base_model_stop_flags, Tensor<const bool, 1> base_model_is_block_step,
    Tensor<int64_t, 2> base_model_draft_tokens, int32_t num_model_step, bool truncate_first_token,
    bool splitwise_prefill, bool kvcache_scheduler_v1) {
  const int64_t bsz = draft_tokens.shape[0];
  require_slots(bsz, input_ids, stop_flags, seq_lens_this_time, seq_lens_encoder, seq_lens_decoder, step_idx,
                is_block_step, batch_drop, pre_ids, mask_rollback, recompute_token_num, accept_tokens, accept_num,
                base_model_seq_lens_this_time, base_model_seq_lens_encoder, base_model_seq_lens_decoder,
                base_model_step_idx, base_model_stop_flags, base_model_is_block_step, base_model_draft_tokens);
  not_need_stop.require(0, 1, "one flag");
  if (num_model_step < 1) throw ArgumentError("num_model_step", "is ", num_model_step, ", expected at least 1");

  const Preprocess op{{rows_of(accept_tokens), rows_of(draft_tokens), rows_of(input_ids), rows_of(pre_ids),
                       rows_of(base_model_draft_tokens)},
                      stop_flags.data,
                      seq_lens_this_time.data,
                      seq_lens_encoder.data,
                      seq_lens_decoder.data,
                      step_idx.data,
                      not_need_stop.data,
                      is_block_step.data,
                      batch_drop.data,
                      mask_rollback.data,
                      recompute_token_num.data,
                      accept_num.data,
                      base_model_seq_lens_this_time.data,
                      base_model_seq_lens_decoder.data,
                      base_model_step_idx.data,
                      base_model_stop_flags.data,
                      base_model_is_block_step.data,
                      bsz,
                      num_model_step,
                      truncate_first_token,
                      kvcache_scheduler_v1};
  if (splitwise_prefill) prepare_prompts<<<1, threads_for_slots(bsz), 0, stream>>>(op);
  else prepare_rows<<<1 + blocks_of_rows(bsz), kRowThreads, 0, stream>>>(op);
  check_launch("draft_model_preprocess");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_preprocess, opgold::draft_model_preprocess)
