// What the two update ops share: a slot's state, and the rows that a sampled token goes to.
#pragma once

#include "xpu/draft_rows.h"

namespace opgold {
namespace xpu {

// A slot's state before the step.
struct UpdatedRow {
  int this_time, encoder, decoder;
  Int64 step, limit;

  __device__ bool prompt() const { return encoder > 0; }
};

struct UpdatedRows {
  __global_ptr__ const Int64* inter_next_tokens;
  Int64 sampled;
  Rows<Int64> draft_tokens;
  Rows<Int64> pre_ids;
  Rows<Int64> base_model_draft_tokens;
  Int64 column;  // of the base draft row
  __global_ptr__ int* seq_lens_this_time;
  __global_ptr__ int* seq_lens_encoder;
  __global_ptr__ int* seq_lens_decoder;
  __global_ptr__ Int64* step_idx;
  __global_ptr__ const Int64* max_dec_len;

  __device__ UpdatedRow read(Int64 slot) const {
    const UpdatedRow row = {seq_lens_this_time[slot], seq_lens_encoder[slot], seq_lens_decoder[slot], step_idx[slot],
                            max_dec_len[slot]};
    return row;
  }

  __device__ Int64 token(Int64 index) const {
    return index >= 0 && index < sampled ? inter_next_tokens[index] : -1;
  }

  // Takes the row past its tokens and puts `token` at the history's end. Returns the new step.
  __device__ Int64 advance(Int64 slot, const UpdatedRow& row, Int64 token) const {
    const Int64 step = wrapping_sum(row.step, (Int64)(row.prompt() ? 1 : row.this_time));
    seq_lens_decoder[slot] = wrapping_sum(row.decoder, row.prompt() ? row.encoder : row.this_time);
    step_idx[slot] = step;
    pre_ids.put(slot, row.prompt() ? 1 : step, token);
    return step;
  }

  __device__ void set_base_draft(Int64 slot, Int64 token) const { base_model_draft_tokens.put(slot, column, token); }
  __device__ void set_drafts(Int64 slot, Int64 token) const {
    draft_tokens.put(slot, 0, token);
    set_base_draft(slot, token);
  }
};

}  // namespace xpu
}  // namespace opgold
