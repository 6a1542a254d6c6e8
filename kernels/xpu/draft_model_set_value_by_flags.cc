// draft_model_set_value_by_flags: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void draft_model_set_value_by_flags(const Int64* draft_tokens, Int64 max_draft,
                                                            Int64* pre_ids_all, Int64 max_history,
                                                            const bool* stop_flags, int* seq_lens_this_time,
                                                            const Int64* step_idx, Int64 bsz);

}  // namespace xpu

namespace {

void draft_model_set_value_by_flags(Stream stream, Tensor<const int64_t, 2> draft_tokens,
                                    Tensor<int64_t, 2> pre_ids_all, Tensor<const bool, 1> stop_flags,
                                    Tensor<int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> seq_lens_encoder,
                                    Tensor<const int32_t, 1> seq_lens_decoder, Tensor<const int64_t, 1> step_idx) {
  const int64_t bsz = draft_tokens.shape[0];
  require_each(bsz, "slots of draft_tokens", pre_ids_all, stop_flags, seq_lens_this_time, seq_lens_encoder,
               seq_lens_decoder, step_idx);
  if (bsz == 0) return;
  check_launch("draft_model_set_value_by_flags",
               xpu::draft_model_set_value_by_flags<<<clusters(), cores(), stream>>>(
                   device_data(draft_tokens), draft_tokens.shape[1], device_data(pre_ids_all), pre_ids_all.shape[1],
                   stop_flags.data, seq_lens_this_time.data, device_data(step_idx), bsz));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_set_value_by_flags, opgold::draft_model_set_value_by_flags)
