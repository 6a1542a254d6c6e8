// update_attn_mask_offsets: mask ranges of packed tokens, with a mask base kept from call to call.
#include "attn_mask.cuh"
#include "bindings/export.h"

namespace opgold {
namespace {

struct KeptBase {
  int32_t* attn_mask_offsets_decoder;
  int32_t* mask_rollback;
  DecodeStates states;

  struct Kept {
    int32_t decoder;
    int32_t rollback;

    __device__ int32_t base() const { return wrapping_sum(decoder, -int64_t(rollback)); }
  };

  __device__ Kept read(int64_t slot, int) const { return {attn_mask_offsets_decoder[slot], mask_rollback[slot]}; }

  __device__ void advance(int64_t slot, const Kept& kept, int32_t length, int lane) const {
    if (lane == 0) {
      attn_mask_offsets_decoder[slot] = wrapping_sum(kept.base(), length);
      mask_rollback[slot] = 0;
    }
    if (length <= 1) return;
    for (int64_t i = lane; i < states.width; i += kLanes) states.data[slot * states.width + i] = i < length ? 0 : -1;
  }
};

void update_attn_mask_offsets(Stream stream, Tensor<const int64_t, 1> ids_remove_padding,
                              Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> seq_lens_encoder,
                              Tensor<const int32_t, 1> seq_lens_decoder, Tensor<const int32_t, 1> cu_seqlens_q,
                              Tensor<const int32_t, 2> attn_mask_offsets_full,
                              Tensor<int32_t, 1> attn_mask_offsets_decoder, Tensor<const bool, 1> is_block_step,
                              Tensor<int32_t, 2> decode_states, Tensor<int32_t, 1> mask_rollback,
                              Tensor<int32_t, 1> attn_mask_offsets) {
  attn_mask_offsets_decoder.require(0, seq_lens_this_time.shape[0], "slots of seq_lens_this_time");
  mask_rollback.require(0, seq_lens_this_time.shape[0], "slots of seq_lens_this_time");
  launch_update_masks("update_attn_mask_offsets", stream, ids_remove_padding, seq_lens_this_time, seq_lens_encoder,
                      seq_lens_decoder, cu_seqlens_q, attn_mask_offsets_full, is_block_step, decode_states,
                      attn_mask_offsets,
                      KeptBase{attn_mask_offsets_decoder.data, mask_rollback.data,
                               DecodeStates{decode_states.data, decode_states.shape[1]}});
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(update_attn_mask_offsets, opgold::update_attn_mask_offsets)
