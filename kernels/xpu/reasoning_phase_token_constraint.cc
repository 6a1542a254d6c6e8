// reasoning_phase_token_constraint: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void advance_phases(const Int64* token_ids_all, Int64 width, const Int64* prompt_lens,
                                            const bool* stop_flags, const int* seq_lens_encoder, const Int64* step_idx,
                                            int* reasoning_status, const bool* enable_thinking, Int64 think_end_id,
                                            Int64 line_break_id, Int64 history_layout, int bsz);

template <class T>
__attribute__((global)) void mask_first_answers(const int* reasoning_status, T* logits, Int64 rows, Int64 vocab,
                                                const Int64* allowed_tokens, Int64 allowed,
                                                const int* batch_id_per_token_output, const int* cu_seqlens_q_output,
                                                int bsz);

}  // namespace xpu

namespace {

template <class T>
void constrain(Stream stream, Tensor<T, 2> logits, Tensor<const int64_t, 2> token_ids_all,
               Tensor<const int64_t, 1> prompt_lens, Tensor<const bool, 1> stop_flags,
               Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> seq_lens_encoder,
               Tensor<const int64_t, 1> step_idx, Tensor<const int64_t, 1> allowed_tokens,
               Tensor<int32_t, 1> reasoning_status, Tensor<const int32_t, 1> batch_id_per_token_output,
               Tensor<const int32_t, 1> cu_seqlens_q_output, Tensor<const bool, 1> enable_thinking,
               int64_t think_end_id, int64_t line_break_id, int64_t history_layout) {
  const int bsz = count_of(seq_lens_this_time, 0);
  const int64_t rows = logits.shape[0], vocab = logits.shape[1], allowed = allowed_tokens.shape[0];
  require_layout(history_layout);
  require_all_slots(prompt_lens.shape[0], bsz, token_ids_all, stop_flags, seq_lens_encoder, step_idx, reasoning_status,
                    enable_thinking);
  cu_seqlens_q_output.require(0, int64_t{bsz} + 1, "slots of seq_lens_this_time, and 1");
  require_rows(batch_id_per_token_output, rows, "rows of logits");
  if (bsz == 0) return;
  check_launch("reasoning_phase_token_constraint",
               xpu::advance_phases<<<clusters(), cores(), stream>>>(
                   device_data(token_ids_all), token_ids_all.shape[1], device_data(prompt_lens), stop_flags.data,
                   seq_lens_encoder.data, device_data(step_idx), reasoning_status.data, enable_thinking.data,
                   think_end_id, line_break_id, history_layout, bsz));
  if (rows == 0 || vocab == 0 || allowed == 0) return;
  check_launch("reasoning_phase_token_constraint",
               xpu::mask_first_answers<T><<<clusters(), cores(), stream>>>(
                   reasoning_status.data, logits.data, rows, vocab, device_data(allowed_tokens), allowed,
                   batch_id_per_token_output.data, cu_seqlens_q_output.data, bsz));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(reasoning_phase_token_constraint, opgold::constrain<float>, opgold::constrain<opgold::Half>,
              opgold::constrain<opgold::BFloat16>)
