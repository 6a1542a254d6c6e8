// speculate_set_value_by_flags_and_idx: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_set_value_by_flags_and_idx(
    Int64* token_ids_all, Int64 width, const Int64* prompt_lens, const Int64* accept_tokens, Int64 max_draft,
    int* accept_num, const bool* stop_flags, const int* seq_lens_encoder, int* seq_lens_decoder,
    const Int64* step_idx, Int64 bsz, int history_layout);

}  // namespace xpu

namespace {

void speculate_set_value_by_flags_and_idx(Stream stream, Tensor<int64_t, 2> token_ids_all,
                                          Tensor<const int64_t, 1> prompt_lens, Tensor<const int64_t, 2> accept_tokens,
                                          Tensor<int32_t, 1> accept_num, Tensor<const bool, 1> stop_flags,
                                          Tensor<const int32_t, 1> seq_lens_this_time,
                                          Tensor<const int32_t, 1> seq_lens_encoder,
                                          Tensor<int32_t, 1> seq_lens_decoder, Tensor<const int64_t, 1> step_idx,
                                          int64_t history_layout) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  require_layout(history_layout);
  require_rows(prompt_lens, bsz, "slots of seq_lens_this_time");
  require_each(prompt_lens.shape[0], "slots of prompt_lens", token_ids_all, accept_tokens, accept_num, stop_flags,
               seq_lens_encoder, seq_lens_decoder, step_idx);
  if (bsz == 0) return;
  check_launch("speculate_set_value_by_flags_and_idx",
               xpu::speculate_set_value_by_flags_and_idx<<<clusters(), cores(), stream>>>(
                   device_data(token_ids_all), token_ids_all.shape[1], device_data(prompt_lens),
                   device_data(accept_tokens), accept_tokens.shape[1], accept_num.data, stop_flags.data,
                   seq_lens_encoder.data, seq_lens_decoder.data, device_data(step_idx), bsz,
                   static_cast<int>(history_layout)));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_set_value_by_flags_and_idx, opgold::speculate_set_value_by_flags_and_idx)
