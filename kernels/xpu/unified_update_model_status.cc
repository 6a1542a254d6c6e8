// unified_update_model_status: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void unified_update_model_status(
    int* seq_lens_encoder, int* seq_lens_decoder, bool* has_running_seqs, Int64* step_input_ids,
    Int64* step_output_ids, Int64 max_step, int* step_output_len, bool* stop_flags, int* seq_lens_this_time,
    const bool* is_paused, Int64* token_ids_all, Int64 max_model_len, const Int64* prompt_lens, Int64* step_idx,
    const Int64* end_tokens, Int64 end_count, const Int64* max_dec_len, Int64 bsz, Int64 slots, Int64 history_layout);

}  // namespace xpu

namespace {

void unified_update_model_status(Stream stream, Tensor<int32_t, 1> seq_lens_encoder,
                                 Tensor<int32_t, 1> seq_lens_decoder, Tensor<bool, 1> has_running_seqs,
                                 Tensor<int64_t, 2> step_input_ids, Tensor<int64_t, 2> step_output_ids,
                                 Tensor<int32_t, 1> step_output_len, Tensor<bool, 1> stop_flags,
                                 Tensor<int32_t, 1> seq_lens_this_time, Tensor<const bool, 1> is_paused,
                                 Tensor<int64_t, 2> token_ids_all, Tensor<const int64_t, 1> prompt_lens,
                                 Tensor<int64_t, 1> step_idx, Tensor<const int64_t, 1> end_tokens,
                                 Tensor<const int64_t, 1> max_dec_len, int64_t history_layout) {
  const int64_t slots = stop_flags.shape[0], bsz = seq_lens_this_time.shape[0];
  require_all_slots(slots, bsz, seq_lens_encoder, seq_lens_decoder, step_input_ids, step_output_ids, step_output_len,
                    is_paused, token_ids_all, prompt_lens, step_idx, max_dec_len);
  has_running_seqs.require(0, 1, "one flag");
  step_input_ids.require(1, step_output_ids.shape[1], "columns of step_output_ids");
  require_layout(history_layout);
  check_launch("unified_update_model_status",
               xpu::unified_update_model_status<<<1, cores(), stream>>>(
                   seq_lens_encoder.data, seq_lens_decoder.data, has_running_seqs.data, device_data(step_input_ids),
                   device_data(step_output_ids), step_output_ids.shape[1], step_output_len.data, stop_flags.data,
                   seq_lens_this_time.data, is_paused.data, device_data(token_ids_all), token_ids_all.shape[1],
                   device_data(prompt_lens), device_data(step_idx), device_data(end_tokens), end_tokens.shape[0],
                   device_data(max_dec_len), bsz, slots, history_layout));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(unified_update_model_status, opgold::unified_update_model_status)
