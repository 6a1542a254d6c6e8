// get_position_ids_and_mask_encoder_batch: the launcher.
#include "bindings/export.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void get_position_ids_and_mask_encoder_batch(const int* seq_lens_decoder,
                                                                     const int* seq_lens_this_time, int bsz,
                                                                     int* position_ids, int rows);

}  // namespace xpu

namespace {

void get_position_ids(Stream stream, Tensor<const int32_t, 1> seq_lens_encoder,
                      Tensor<const int32_t, 1> seq_lens_decoder, Tensor<const int32_t, 1> seq_lens_this_time,
                      Tensor<int32_t, 1> position_ids) {
  const int bsz = count_of(seq_lens_encoder, 0), rows = count_of(position_ids, 0);
  require_each(bsz, "slots of seq_lens_encoder", seq_lens_decoder, seq_lens_this_time);
  if (bsz == 0 || rows == 0) return;
  check_launch("get_position_ids_and_mask_encoder_batch",
               xpu::get_position_ids_and_mask_encoder_batch<<<clusters(), cores(), stream>>>(
                   seq_lens_decoder.data, seq_lens_this_time.data, bsz, position_ids.data, rows));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(get_position_ids_and_mask_encoder_batch, opgold::get_position_ids)
