// update_attn_mask_offsets_stateless: mask ranges of packed tokens, computed anew from the cached lengths.
#include "attn_mask.cuh"
#include "bindings/export.h"

namespace opgold {
namespace {

struct CachedBase {
  const int32_t* seq_lens_decoder;
  DecodeStates states;

  struct Kept {
    int32_t cached;
    int32_t state;  // the lane's first

    __device__ int32_t base() const { return cached; }
  };

  __device__ Kept read(int64_t slot, int lane) const {
    return {seq_lens_decoder[slot], lane < states.width ? states.data[slot * states.width + lane] : 0};
  }

  __device__ void advance(int64_t slot, const Kept& kept, int32_t length, int lane) const {
    int32_t* row = states.data + slot * states.width;
    for (int64_t i = lane; i < states.width; i += kLanes) {
      const int32_t state = i < kLanes ? kept.state : row[i];
      row[i] = i < length && state != 1 ? 0 : -1;
    }
  }
};

void update_attn_mask_offsets_stateless(Stream stream, Tensor<const int64_t, 1> ids_remove_padding,
                                        Tensor<const int32_t, 1> seq_lens_this_time,
                                        Tensor<const int32_t, 1> seq_lens_encoder,
                                        Tensor<const int32_t, 1> seq_lens_decoder, Tensor<const int32_t, 1> cu_seqlens_q,
                                        Tensor<const int32_t, 2> attn_mask_offsets_full,
                                        Tensor<const bool, 1> is_block_step, Tensor<int32_t, 2> decode_states,
                                        Tensor<int32_t, 1> attn_mask_offsets) {
  launch_update_masks(
      "update_attn_mask_offsets_stateless", stream, ids_remove_padding, seq_lens_this_time, seq_lens_encoder,
      seq_lens_decoder, cu_seqlens_q, attn_mask_offsets_full, is_block_step, decode_states, attn_mask_offsets,
      CachedBase{seq_lens_decoder.data, DecodeStates{decode_states.data, decode_states.shape[1]}});
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(update_attn_mask_offsets_stateless, opgold::update_attn_mask_offsets_stateless)
