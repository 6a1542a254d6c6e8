// draft_model_update: the draft model's rows after one of its steps, stopping on end tokens and on length.
//
// A thread does a slot, and one block all of them: the flag hangs on state that is written.
#include "bindings/export.h"
#include "updated_rows.cuh"

namespace opgold {
namespace {

struct Update {
  UpdatedRows rows;
  const int32_t* cu_seqlens_q_output;
  bool* stop_flags;
  const int64_t* end_ids;
  int64_t end_count;
  bool prefill_one_step_stop;

  __device__ bool ends(int64_t token) const {
    bool found = prefill_one_step_stop;
    for (int64_t i = 0; i < end_count; ++i) found |= end_ids[i] == token;
    return found;
  }

  // Whether the slot goes on.
  __device__ bool update(int64_t slot) const {
    const UpdatedRows::Row row = rows.read(stop_flags, slot);
    const int64_t start = cu_seqlens_q_output[slot];
    const int64_t end_token = end_count > 0 ? end_ids[0] : -1;
    const int64_t last = row.prompt() ? 0 : int64_t(row.this_time) - 1;
    bool stops = row.stopped;
    if (row.stopped) {
      rows.set_drafts(slot, -1);
    } else {
      const int64_t token = rows.token(start + last);
      const int64_t step = rows.advance(slot, row, token);
      rows.set_drafts(slot, token);
      stops = ends(token);
      if (!stops && step >= row.limit) {
        stops = true;
        rows.draft_tokens.put(slot, last, end_token);
        rows.base_model_draft_tokens.row(slot)[rows.column] = end_token;
      }
      if (stops) stop_flags[slot] = true;
    }
    rows.seq_lens_this_time[slot] = stops ? 0 : 1;
    rows.seq_lens_encoder[slot] = 0;
    return !stops;
  }
};

__global__ void __launch_bounds__(kMostThreads) update_slots(Update op) {
  int going_on = 0;
  for (int64_t slot = threadIdx.x; slot < op.rows.bsz; slot += blockDim.x) going_on |= op.update(slot);
  going_on = __syncthreads_or(going_on);
  if (threadIdx.x == 0) op.rows.not_need_stop[0] = going_on != 0;
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
  update_slots<<<1, threads_for_slots(rows.bsz), 0, stream>>>(op);
  check_launch("draft_model_update");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_update, opgold::draft_model_update)
