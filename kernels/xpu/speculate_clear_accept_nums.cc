// speculate_clear_accept_nums: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_clear_accept_nums(int* accept_num, const int* seq_lens_decoder, Int64 bsz);

}  // namespace xpu

namespace {

void speculate_clear_accept_nums(Stream stream, Tensor<int32_t, 1> accept_num,
                                 Tensor<const int32_t, 1> seq_lens_decoder) {
  const int64_t bsz = seq_lens_decoder.shape[0];
  require_rows(accept_num, bsz, "slots of seq_lens_decoder");
  if (bsz == 0) return;
  check_launch("speculate_clear_accept_nums", xpu::speculate_clear_accept_nums<<<clusters(), cores(), stream>>>(
                                                  accept_num.data, seq_lens_decoder.data, bsz));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_clear_accept_nums, opgold::speculate_clear_accept_nums)
