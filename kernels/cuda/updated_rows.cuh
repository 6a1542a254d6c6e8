// What the two update ops share: a slot's state, asked for at once, and the rows that a sampled token goes to.
#pragma once

#include "draft_rows.cuh"

namespace opgold {

struct UpdatedRows {
  const int64_t* inter_next_tokens;
  int64_t sampled;
  Rows<int64_t> draft_tokens;
  Rows<int64_t> pre_ids;
  Rows<int64_t> base_model_draft_tokens;
  int32_t* seq_lens_this_time;
  int32_t* seq_lens_encoder;
  int32_t* seq_lens_decoder;
  int64_t* step_idx;
  bool* not_need_stop;
  const int64_t* max_dec_len;
  int64_t bsz;
  int64_t column;  // of the base draft row

  struct Row {
    int32_t this_time, encoder, decoder;
    int64_t step, limit;
    bool stopped;
    __device__ bool prompt() const { return encoder > 0; }
    __device__ int64_t next_step() const { return wrapping_sum(step, int64_t(prompt() ? 1 : this_time)); }
  };

  __device__ Row read(const bool* stop_flags, int64_t slot) const {
    return {seq_lens_this_time[slot], seq_lens_encoder[slot], seq_lens_decoder[slot],
            step_idx[slot],           max_dec_len[slot],      stop_flags[slot]};
  }

  // The sampled token, if it is `wanted` and there; else -1.
  __device__ int64_t token(int64_t index, bool wanted) const {
    return wanted & (index >= 0) & (index < sampled) ? inter_next_tokens[index] : -1;
  }

  // Takes the row past its tokens and puts `token` at the history's end.
  __device__ void advance(int64_t slot, const Row& row, int64_t token) const {
    seq_lens_decoder[slot] = wrapping_sum(row.decoder, row.prompt() ? row.encoder : row.this_time);
    step_idx[slot] = row.next_step();
    pre_ids.put(slot, row.prompt() ? 1 : row.next_step(), token);
  }

};

// Checks shapes and the substep.
inline UpdatedRows updated_rows(Tensor<const int64_t, 1> inter_next_tokens, Tensor<int64_t, 2> draft_tokens,
                                Tensor<int64_t, 2> pre_ids, Tensor<int32_t, 1> seq_lens_this_time,
                                Tensor<int32_t, 1> seq_lens_encoder, Tensor<int32_t, 1> seq_lens_decoder,
                                Tensor<int64_t, 1> step_idx, Tensor<const int32_t, 1> cu_seqlens_q_output,
                                Tensor<bool, 1> not_need_stop, Tensor<const int64_t, 1> max_dec_len,
                                Tensor<int64_t, 2> base_model_draft_tokens, int64_t substep) {
  const int64_t bsz = draft_tokens.shape[0];
  require_slots(bsz, pre_ids, seq_lens_this_time, seq_lens_encoder, seq_lens_decoder, step_idx, max_dec_len,
                base_model_draft_tokens);
  cu_seqlens_q_output.require(0, bsz + 1, "slots of draft_tokens, and 1");
  not_need_stop.require(0, 1, "one flag");
  if (substep < 0 || substep >= base_model_draft_tokens.shape[1] - 1)
    throw ArgumentError("substep", "is ", substep, ", expected at least 0 and below the ",
                        base_model_draft_tokens.shape[1], " columns of base_model_draft_tokens less one");
  return {inter_next_tokens.data,
          inter_next_tokens.shape[0],
          rows_of(draft_tokens),
          rows_of(pre_ids),
          rows_of(base_model_draft_tokens),
          seq_lens_this_time.data,
          seq_lens_encoder.data,
          seq_lens_decoder.data,
          step_idx.data,
          not_need_stop.data,
          max_dec_len.data,
          bsz,
          substep + 1};
}

}  // namespace opgold
