// What launchers of update_attn_mask_offsets check in either form.
#pragma once

#include "xpu/slot_checks.h"

namespace opgold {

inline void require_masks(const Tensor<const int64_t, 1>& ids_remove_padding,
                          const Tensor<const int32_t, 1>& seq_lens_this_time,
                          const Tensor<const int32_t, 1>& seq_lens_encoder,
                          const Tensor<const int32_t, 1>& seq_lens_decoder,
                          const Tensor<const int32_t, 1>& cu_seqlens_q,
                          const Tensor<const int32_t, 2>& attn_mask_offsets_full,
                          const Tensor<const bool, 1>& is_block_step, const Tensor<int32_t, 2>& decode_states,
                          const Tensor<int32_t, 1>& attn_mask_offsets) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  require_each(bsz, "slots of seq_lens_this_time", seq_lens_encoder, seq_lens_decoder);
  cu_seqlens_q.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  require_each(bsz, "slots of seq_lens_this_time", attn_mask_offsets_full, is_block_step, decode_states);
  if (decode_states.shape[1] < 1) throw ArgumentError("decode_states", "has 0 columns, expected at least 1");
  attn_mask_offsets.require(0, 2 * ids_remove_padding.shape[0], "twice the tokens of ids_remove_padding");
}

}  // namespace opgold
