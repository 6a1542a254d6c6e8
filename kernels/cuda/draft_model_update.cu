// draft_model_update: the draft model's rows after one of its steps, stopping on end tokens and on length.
//
// A thread does a slot. What hangs on nothing is asked for at once, and nothing branches before the token is asked for.
#include "bindings/export.h"
#include "cluster_votes.cuh"
#include "end_tokens.cuh"
#include "updated_rows.cuh"

namespace opgold {
namespace {

constexpr ClusterShape kCluster{4, 64};

struct Update {
  UpdatedRows rows;
  const int32_t* cu_seqlens_q_output;
  bool* stop_flags;
  const int64_t* end_ids;
  int64_t end_count;
  bool prefill_one_step_stop;

  // Whether the slot goes on.
  __device__ bool update(int64_t slot) const {
    const UpdatedRows::Row row = rows.read(stop_flags, slot);
    const int64_t start = cu_seqlens_q_output[slot];
    const EndTokens end_tokens(end_ids, end_count);

    const int64_t last = row.prompt() ? 0 : int64_t(row.this_time) - 1;
    const int64_t token = rows.token(start + last, !row.stopped);
    if (!row.stopped) rows.advance(slot, row, token);
    rows.seq_lens_encoder[slot] = 0;

    const bool ends = prefill_one_step_stop | end_tokens.has(token);
    const bool full = !row.stopped & !ends & (row.next_step() >= row.limit), stops = row.stopped | ends | full;
    rows.base_model_draft_tokens.row(slot)[rows.column] = full ? end_tokens.first(-1) : token;
    rows.draft_tokens.put(slot, 0, token);
    if (full) rows.draft_tokens.put(slot, last, end_tokens.first(-1));
    if (stops & !row.stopped) stop_flags[slot] = true;
    rows.seq_lens_this_time[slot] = !stops;
    return !stops;
  }
};

__global__ void __launch_bounds__(kMostThreads) update_slots(Update op) {
  __shared__ ClusterVotes votes;
  votes.open();
  bool going_on = false;
  for (int64_t slot = cluster_thread(); slot < op.rows.bsz; slot += cluster_threads()) going_on |= op.update(slot);
  going_on = votes.any(going_on);
  if (cluster_thread() == 0) op.rows.not_need_stop[0] = going_on;
}

void draft_model_update(Stream stream, Tensor<const int64_t, 1> inter_next_tokens, Tensor<int64_t, 2> draft_tokens,
                        Tensor<int64_t, 2> pre_ids, Tensor<int32_t, 1> seq_lens_this_time,
                        Tensor<int32_t, 1> seq_lens_encoder, Tensor<int32_t, 1> seq_lens_decoder,
                        Tensor<int64_t, 1> step_idx, Tensor<const int32_t, 1> cu_seqlens_q_output,
                        Tensor<bool, 1> stop_flags, Tensor<bool, 1> not_need_stop,
                        Tensor<const int64_t, 1> max_dec_len, Tensor<const int64_t, 1> end_ids,
                        Tensor<int64_t, 2> base_model_draft_tokens, int64_t, int64_t substep,
                        bool prefill_one_step_stop) {
  const UpdatedRows rows = updated_rows(inter_next_tokens, draft_tokens, pre_ids, seq_lens_this_time, seq_lens_encoder,
                                        seq_lens_decoder, step_idx, cu_seqlens_q_output, not_need_stop, max_dec_len,
                                        base_model_draft_tokens, substep);
  require_slots(rows.bsz, stop_flags);
  const Update op{rows,          cu_seqlens_q_output.data, stop_flags.data,
                  end_ids.data, end_ids.shape[0],         prefill_one_step_stop};
  launch_cluster(kCluster, stream, rows.bsz, update_slots, op);
  check_launch("draft_model_update");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_update, opgold::draft_model_update)
