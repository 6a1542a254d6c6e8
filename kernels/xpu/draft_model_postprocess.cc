// draft_model_postprocess: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void draft_model_postprocess(const Int64* base_model_draft_tokens, Int64 base_draft,
                                                     int* base_model_seq_lens_this_time,
                                                     const int* base_model_seq_lens_encoder,
                                                     const bool* base_model_stop_flags, Int64 bsz);

}  // namespace xpu

namespace {

void draft_model_postprocess(Stream stream, Tensor<const int64_t, 2> base_model_draft_tokens,
                             Tensor<int32_t, 1> base_model_seq_lens_this_time,
                             Tensor<const int32_t, 1> base_model_seq_lens_encoder,
                             Tensor<const bool, 1> base_model_stop_flags) {
  const int64_t bsz = base_model_draft_tokens.shape[0];
  require_each(bsz, "slots of base_model_draft_tokens", base_model_seq_lens_this_time, base_model_seq_lens_encoder,
               base_model_stop_flags);
  if (bsz == 0) return;
  check_launch("draft_model_postprocess",
               xpu::draft_model_postprocess<<<clusters(), cores(), stream>>>(
                   device_data(base_model_draft_tokens), base_model_draft_tokens.shape[1],
                   base_model_seq_lens_this_time.data, base_model_seq_lens_encoder.data, base_model_stop_flags.data,
                   bsz));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_postprocess, opgold::draft_model_postprocess)
