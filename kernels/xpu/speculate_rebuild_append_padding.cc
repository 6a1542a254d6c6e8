// speculate_rebuild_append_padding: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_rebuild_append_padding(const char* full_hidden_states, Int64 tokens,
                                                              Int64 row_bytes, const int* cum_offsets,
                                                              const int* seq_lens_encoder, const int* seq_lens_decoder,
                                                              Int64 bsz, const int* output_padding_offset,
                                                              int max_seq_len, char* out, Int64 rows);

}  // namespace xpu

namespace {

template <class T>
void rebuild_append(Stream stream, Tensor<const T, 2> full_hidden_states, Tensor<const int32_t, 1> cum_offsets,
                    Tensor<const int32_t, 1> seq_lens_encoder, Tensor<const int32_t, 1> seq_lens_decoder,
                    Tensor<const int32_t, 1> output_padding_offset, Tensor<T, 2> out, int64_t max_seq_len) {
  const int64_t bsz = cum_offsets.shape[0], rows = output_padding_offset.shape[0];
  const int64_t width = full_hidden_states.shape[1];
  require_each(bsz, "slots of cum_offsets", seq_lens_encoder, seq_lens_decoder);
  out.require(0, rows, "rows of output_padding_offset");
  out.require(1, width, "columns of full_hidden_states");
  if (max_seq_len < 1 || max_seq_len > INT32_MAX)
    throw ArgumentError("max_seq_len", max_seq_len, ", expected 1 to ", INT32_MAX);
  if (rows == 0 || width == 0) return;
  check_launch("speculate_rebuild_append_padding",
               xpu::speculate_rebuild_append_padding<<<clusters(), cores(), stream>>>(
                   raw_bytes(full_hidden_states), full_hidden_states.shape[0], width * int64_t(sizeof(T)),
                   cum_offsets.data, seq_lens_encoder.data, seq_lens_decoder.data, bsz, output_padding_offset.data,
                   static_cast<int>(max_seq_len), raw_bytes(out), rows));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_rebuild_append_padding, opgold::rebuild_append<float>, opgold::rebuild_append<opgold::Half>,
              opgold::rebuild_append<opgold::BFloat16>)
