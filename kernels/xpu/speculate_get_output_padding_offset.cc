// speculate_get_output_padding_offset: the launcher.
#include <algorithm>

#include "bindings/export.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_get_output_padding_offset(const int* output_cum_offsets_tmp,
                                                                 const int* seq_lens_output, int bsz,
                                                                 int* output_padding_offset, int rows,
                                                                 int* output_cum_offsets);

}  // namespace xpu

namespace {

void speculate_get_output_padding_offset(Stream stream, Tensor<const int32_t, 1> output_cum_offsets_tmp,
                                         Tensor<const int32_t, 1> seq_lens_output,
                                         Tensor<int32_t, 1> output_padding_offset,
                                         Tensor<int32_t, 1> output_cum_offsets, int64_t out_token_num,
                                         int64_t max_seq_len) {
  const int bsz = count_of(seq_lens_output, 0), rows = count_of(output_padding_offset, 0);
  require_each(bsz, "slots of seq_lens_output", output_cum_offsets_tmp, output_cum_offsets);
  output_padding_offset.require(0, out_token_num, "out_token_num");
  const int64_t limit = INT32_MAX / std::max(1, bsz);
  if (max_seq_len < 0 || max_seq_len > limit)
    throw ArgumentError("max_seq_len", max_seq_len, ", expected 0 to ", limit, " for ", bsz, " slots");
  if (bsz == 0 && rows == 0) return;
  check_launch("speculate_get_output_padding_offset",
               xpu::speculate_get_output_padding_offset<<<clusters(), cores(), stream>>>(
                   output_cum_offsets_tmp.data, seq_lens_output.data, bsz, output_padding_offset.data, rows,
                   output_cum_offsets.data));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_get_output_padding_offset, opgold::speculate_get_output_padding_offset)
