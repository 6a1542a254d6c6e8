// speculate_get_seq_lens_output: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_get_seq_lens_output(const int* seq_lens_this_time, const int* seq_lens_encoder,
                                                           Int64 bsz, int* seq_lens_output);

}  // namespace xpu

namespace {

void speculate_get_seq_lens_output(Stream stream, Tensor<const int32_t, 1> seq_lens_this_time,
                                   Tensor<const int32_t, 1> seq_lens_encoder,
                                   Tensor<const int32_t, 1> seq_lens_decoder, Tensor<int32_t, 1> seq_lens_output) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  require_each(bsz, "slots of seq_lens_this_time", seq_lens_encoder, seq_lens_decoder, seq_lens_output);
  if (bsz == 0) return;
  check_launch("speculate_get_seq_lens_output",
               xpu::speculate_get_seq_lens_output<<<clusters(), cores(), stream>>>(
                   seq_lens_this_time.data, seq_lens_encoder.data, bsz, seq_lens_output.data));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_get_seq_lens_output, opgold::speculate_get_seq_lens_output)
