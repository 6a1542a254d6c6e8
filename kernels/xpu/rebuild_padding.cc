// rebuild_padding: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void rebuild_padding(const char* tmp_out, Int64 tokens, Int64 row_bytes,
                                             const int* cu_seqlens_q, const int* seq_lens_this_time,
                                             const int* seq_lens_encoder, int bsz, const int* batch_id_per_token_output,
                                             Int64 ids, const int* cu_seqlens_q_output, char* first_token_out,
                                             char* out, Int64 rows);

}  // namespace xpu

namespace {

template <class T>
void rebuild_padding(Stream stream, Tensor<const T, 2> tmp_out, Tensor<const int32_t, 1> cu_seqlens_q,
                     Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> seq_lens_decoder,
                     Tensor<const int32_t, 1> seq_lens_encoder,
                     Optional<Tensor<const int32_t, 1>> batch_id_per_token_output,
                     Optional<Tensor<const int32_t, 1>> cu_seqlens_q_output, Optional<Tensor<T, 2>> first_token_out,
                     Tensor<T, 2> out, bool enable_logprob) {
  const int bsz = count_of(seq_lens_this_time, 0);
  const int64_t width = tmp_out.shape[1], rows = out.shape[0];
  cu_seqlens_q.require(0, int64_t{bsz} + 1, "slots of seq_lens_this_time, and 1");
  seq_lens_decoder.require(0, bsz, "slots of seq_lens_this_time");
  seq_lens_encoder.require(0, bsz, "slots of seq_lens_this_time");
  const bool speculative = batch_id_per_token_output.given;
  if (speculative != cu_seqlens_q_output.given)
    throw ArgumentError(speculative ? "cu_seqlens_q_output" : "batch_id_per_token_output",
                        "required with the other of the two");
  if (speculative) cu_seqlens_q_output.require(0, int64_t{bsz} + 1, "slots of seq_lens_this_time, and 1");
  if (first_token_out.given) {
    first_token_out.require(1, width, "columns of tmp_out");
    if (first_token_out.shape[0] < bsz)
      throw ArgumentError("first_token_out", first_token_out.shape[0], " rows, expected at least ", bsz);
  }
  out.require(1, width, "columns of tmp_out");
  if (rows == 0 || width == 0) return;
  const bool keeps_first = speculative && enable_logprob && first_token_out.given;
  check_launch("rebuild_padding",
               xpu::rebuild_padding<<<clusters(), cores(), stream>>>(
                   raw_bytes(tmp_out), tmp_out.shape[0], width * int64_t(sizeof(T)), cu_seqlens_q.data,
                   seq_lens_this_time.data, seq_lens_encoder.data, bsz, batch_id_per_token_output.data,
                   batch_id_per_token_output.shape[0], cu_seqlens_q_output.data,
                   keeps_first ? raw_bytes(first_token_out) : nullptr, raw_bytes(out), rows));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(rebuild_padding, opgold::rebuild_padding<float>, opgold::rebuild_padding<opgold::Half>,
              opgold::rebuild_padding<opgold::BFloat16>)
