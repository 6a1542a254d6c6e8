// speculate_update_seq_lens_this_time: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_update_seq_lens_this_time(int* seq_lens_this_time, const int* seq_lens_encoder,
                                                                 const int* seq_lens_decoder, Int64 real_bsz,
                                                                 int value);

}  // namespace xpu

namespace {

void speculate_update_seq_lens_this_time(Stream stream, Tensor<int32_t, 1> seq_lens_this_time,
                                         Tensor<const int32_t, 1> seq_lens_encoder,
                                         Tensor<const int32_t, 1> seq_lens_decoder, int64_t real_bsz, int32_t value) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  require_each(bsz, "slots of seq_lens_this_time", seq_lens_encoder, seq_lens_decoder);
  if (real_bsz < 0 || real_bsz > bsz)
    throw ArgumentError("real_bsz", "is ", real_bsz, ", expected 0 to the ", bsz, " rows of seq_lens_this_time");
  if (value < 0) throw ArgumentError("value", "is ", value, ", expected at least 0");
  if (real_bsz == 0) return;
  check_launch("speculate_update_seq_lens_this_time",
               xpu::speculate_update_seq_lens_this_time<<<clusters(), cores(), stream>>>(
                   seq_lens_this_time.data, seq_lens_encoder.data, seq_lens_decoder.data, real_bsz, value));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_update_seq_lens_this_time, opgold::speculate_update_seq_lens_this_time)
