// adjust_batch: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/split_arguments.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void adjust_batch(const char* x, int tokens, Int64 row_bytes, const int* encoder_seq_lod,
                                          const int* decoder_seq_lod, const int* encoder_batch_idx,
                                          const int* decoder_batch_idx, int bsz, const int* len_info, char* out);

}  // namespace xpu

namespace {

template <class T>
void adjust_batch(Stream stream, Tensor<const T, 2> x, Entries encoder_seq_lod, Entries decoder_seq_lod,
                  Entries encoder_batch_idx, Entries decoder_batch_idx, Entries encoder_seq_lod_cpu,
                  Entries decoder_seq_lod_cpu, Entries encoder_batch_idx_cpu, Entries decoder_batch_idx_cpu,
                  Entries len_info_cpu, Optional<Entries> output_padding_offset, Tensor<T, 2> out,
                  int64_t /*max_input_length*/) {
  const int tokens = count_of(x, 0);
  const int bsz =
      require_split_batch(encoder_batch_idx, decoder_batch_idx, encoder_batch_idx_cpu, decoder_batch_idx_cpu,
                          encoder_seq_lod, decoder_seq_lod, encoder_seq_lod_cpu, decoder_seq_lod_cpu, len_info_cpu);
  if (output_padding_offset.given) throw ArgumentError("output_padding_offset", "is given, expected none");
  out.require(0, tokens, "rows of x");
  out.require(1, x.shape[1], "columns of x");
  if (x.size() == 0) return;
  check_launch("adjust_batch", xpu::adjust_batch<<<clusters(), cores(), stream>>>(
                                   raw_bytes(x), tokens, x.shape[1] * int64_t(sizeof(T)), encoder_seq_lod.data,
                                   decoder_seq_lod.data, encoder_batch_idx.data, decoder_batch_idx.data, bsz,
                                   len_info_cpu.data, raw_bytes(out)));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(adjust_batch, opgold::adjust_batch<float>, opgold::adjust_batch<opgold::Half>,
              opgold::adjust_batch<opgold::BFloat16>, opgold::adjust_batch<int64_t>)
