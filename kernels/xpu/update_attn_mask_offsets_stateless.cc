// update_attn_mask_offsets_stateless: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/mask_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void update_attn_mask_offsets_stateless(const int* seq_lens_this_time,
                                                                const int* seq_lens_encoder,
                                                                const int* seq_lens_decoder, const int* cu_seqlens_q,
                                                                const int* attn_mask_offsets_full, Int64 max_len,
                                                                const bool* is_block_step, int bsz, int* decode_states,
                                                                Int64 max_draft, int tokens, int* attn_mask_offsets);

}  // namespace xpu

namespace {

void update_attn_mask_offsets_stateless(Stream stream, Tensor<const int64_t, 1> ids_remove_padding,
                                        Tensor<const int32_t, 1> seq_lens_this_time,
                                        Tensor<const int32_t, 1> seq_lens_encoder,
                                        Tensor<const int32_t, 1> seq_lens_decoder,
                                        Tensor<const int32_t, 1> cu_seqlens_q,
                                        Tensor<const int32_t, 2> attn_mask_offsets_full,
                                        Tensor<const bool, 1> is_block_step, Tensor<int32_t, 2> decode_states,
                                        Tensor<int32_t, 1> attn_mask_offsets) {
  const int bsz = count_of(seq_lens_this_time, 0), tokens = count_of(ids_remove_padding, 0);
  require_masks(ids_remove_padding, seq_lens_this_time, seq_lens_encoder, seq_lens_decoder, cu_seqlens_q,
                attn_mask_offsets_full, is_block_step, decode_states, attn_mask_offsets);
  if (bsz == 0 && tokens == 0) return;
  check_launch("update_attn_mask_offsets_stateless",
               xpu::update_attn_mask_offsets_stateless<<<clusters(), cores(), stream>>>(
                   seq_lens_this_time.data, seq_lens_encoder.data, seq_lens_decoder.data, cu_seqlens_q.data,
                   attn_mask_offsets_full.data, attn_mask_offsets_full.shape[1], is_block_step.data, bsz,
                   decode_states.data, decode_states.shape[1], tokens, attn_mask_offsets.data));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(update_attn_mask_offsets_stateless, opgold::update_attn_mask_offsets_stateless)
