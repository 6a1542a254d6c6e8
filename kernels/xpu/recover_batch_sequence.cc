// recover_batch_sequence: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/split_arguments.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void recover_batch_sequence(const char* x, int tokens, Int64 row_bytes,
                                                    const int* encoder_seq_lod, const int* decoder_seq_lod,
                                                    const int* encoder_batch_map, const int* decoder_batch_map, int bsz,
                                                    const int* len_info, char* out);

}  // namespace xpu

namespace {

template <class T>
void recover_batch_sequence(Stream stream, Tensor<const T, 2> x, Entries encoder_seq_lod, Entries decoder_seq_lod,
                            Entries encoder_batch_map, Entries decoder_batch_map, Entries encoder_seq_lod_cpu,
                            Entries decoder_seq_lod_cpu, Entries encoder_batch_map_cpu, Entries decoder_batch_map_cpu,
                            Entries len_info_cpu, Tensor<T, 2> out) {
  const int tokens = count_of(x, 0);
  const int bsz =
      require_split_batch(encoder_batch_map, decoder_batch_map, encoder_batch_map_cpu, decoder_batch_map_cpu,
                          encoder_seq_lod, decoder_seq_lod, encoder_seq_lod_cpu, decoder_seq_lod_cpu, len_info_cpu);
  out.require(0, tokens, "rows of x");
  out.require(1, x.shape[1], "columns of x");
  if (x.size() == 0) return;
  check_launch("recover_batch_sequence",
               xpu::recover_batch_sequence<<<clusters(), cores(), stream>>>(
                   raw_bytes(x), tokens, x.shape[1] * int64_t(sizeof(T)), encoder_seq_lod.data, decoder_seq_lod.data,
                   encoder_batch_map.data, decoder_batch_map.data, bsz, len_info_cpu.data, raw_bytes(out)));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(recover_batch_sequence, opgold::recover_batch_sequence<float>,
              opgold::recover_batch_sequence<opgold::Half>, opgold::recover_batch_sequence<opgold::BFloat16>,
              opgold::recover_batch_sequence<int64_t>)
