// draft_model_update_packed: the launcher.
#include "bindings/export.h"
#include "xpu/draft_checks.h"
#include "xpu/integers.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void draft_model_update_packed(
    const Int64* inter_next_tokens, Int64 sampled, Int64* draft_tokens, Int64 max_draft, Int64* pre_ids,
    Int64 max_history, Int64* base_model_draft_tokens, Int64 base_draft, Int64 column, int* seq_lens_this_time,
    int* seq_lens_encoder, int* seq_lens_decoder, Int64* step_idx, const bool* stop_flags, bool* not_need_stop,
    const Int64* max_dec_len, int bsz);

}  // namespace xpu

namespace {

void draft_model_update_packed(Stream stream, Tensor<const int64_t, 1> inter_next_tokens,
                               Tensor<int64_t, 2> draft_tokens, Tensor<int64_t, 2> pre_ids,
                               Tensor<int32_t, 1> seq_lens_this_time, Tensor<int32_t, 1> seq_lens_encoder,
                               Tensor<int32_t, 1> seq_lens_decoder, Tensor<int64_t, 1> step_idx,
                               Tensor<const int32_t, 1> cu_seqlens_q_output, Tensor<const bool, 1> stop_flags,
                               Tensor<bool, 1> not_need_stop, Tensor<const int64_t, 1> max_dec_len,
                               Tensor<const int64_t, 1>, Tensor<int64_t, 2> base_model_draft_tokens, int64_t,
                               int64_t substep) {
  const int bsz = count_of(draft_tokens, 0);
  const int64_t column =
      require_updated(draft_tokens, pre_ids, seq_lens_this_time, seq_lens_encoder, seq_lens_decoder, step_idx,
                      cu_seqlens_q_output, not_need_stop, max_dec_len, base_model_draft_tokens, substep);
  stop_flags.require(0, bsz, "slots of draft_tokens");
  check_launch("draft_model_update_packed",
               xpu::draft_model_update_packed<<<1, cores(), stream>>>(
                   device_data(inter_next_tokens), inter_next_tokens.shape[0], device_data(draft_tokens),
                   draft_tokens.shape[1], device_data(pre_ids), pre_ids.shape[1], device_data(base_model_draft_tokens),
                   base_model_draft_tokens.shape[1], column, seq_lens_this_time.data, seq_lens_encoder.data,
                   seq_lens_decoder.data, device_data(step_idx), stop_flags.data, not_need_stop.data,
                   device_data(max_dec_len), bsz));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_update_packed, opgold::draft_model_update_packed)
