// gather_next_token: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/split_arguments.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void gather_next_token(const char* x, int tokens, Int64 row_bytes, const int* encoder_seq_lod,
                                               const int* decoder_seq_lod, const int* encoder_batch_map,
                                               const int* decoder_batch_map, int bsz, const int* len_info,
                                               bool is_speculative, char* out, int rows);

}  // namespace xpu

namespace {

template <class T>
void gather_next_token(Stream stream, Tensor<const T, 2> x, Entries encoder_seq_lod, Entries decoder_seq_lod,
                       Entries encoder_batch_map, Entries decoder_batch_map, Entries encoder_seq_lod_cpu,
                       Entries decoder_seq_lod_cpu, Entries encoder_batch_map_cpu, Entries decoder_batch_map_cpu,
                       Entries len_info_cpu, Tensor<T, 2> out, bool is_speculative, int64_t /*max_bsz*/) {
  const int tokens = count_of(x, 0), rows = count_of(out, 0);
  const int bsz =
      require_split_batch(encoder_batch_map, decoder_batch_map, encoder_batch_map_cpu, decoder_batch_map_cpu,
                          encoder_seq_lod, decoder_seq_lod, encoder_seq_lod_cpu, decoder_seq_lod_cpu, len_info_cpu);
  out.require(1, x.shape[1], "columns of x");
  if (out.size() == 0) return;
  check_launch("gather_next_token",
               xpu::gather_next_token<<<clusters(), cores(), stream>>>(
                   raw_bytes(x), tokens, x.shape[1] * int64_t(sizeof(T)), encoder_seq_lod.data, decoder_seq_lod.data,
                   encoder_batch_map.data, decoder_batch_map.data, bsz, len_info_cpu.data, is_speculative,
                   raw_bytes(out), rows));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(gather_next_token, opgold::gather_next_token<float>, opgold::gather_next_token<opgold::Half>,
              opgold::gather_next_token<opgold::BFloat16>)
