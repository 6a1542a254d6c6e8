// get_padding_offset: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void get_padding_offset(const Int64* input_ids, Int64 max_len, const int* seq_len, int bsz,
                                                const Int64* draft_tokens, Int64 max_draft,
                                                const int* seq_lens_encoder, const int* seq_lens_decoder, int token_num,
                                                Int64* x_remove_padding, int* batch_id_per_token, int* cu_seqlens_q,
                                                int* cu_seqlens_k);

}  // namespace xpu

namespace {

void get_padding_offset(Stream stream, Tensor<const int64_t, 2> input_ids, Tensor<const int32_t, 1> seq_len,
                        Optional<Tensor<const int64_t, 2>> draft_tokens,
                        Optional<Tensor<const int32_t, 1>> seq_lens_encoder,
                        Optional<Tensor<const int32_t, 1>> seq_lens_decoder, Tensor<int64_t, 1> x_remove_padding,
                        Tensor<int32_t, 1> batch_id_per_token, Tensor<int32_t, 1> cu_seqlens_q,
                        Tensor<int32_t, 1> cu_seqlens_k, int64_t cpu_token_num) {
  const int bsz = count_of(seq_len, 0), tokens = count_of(x_remove_padding, 0);
  input_ids.require(0, bsz, "slots of seq_len");
  if (draft_tokens.given) draft_tokens.require(0, bsz, "slots of seq_len");
  if (seq_lens_encoder.given) seq_lens_encoder.require(0, bsz, "slots of seq_len");
  if (seq_lens_decoder.given) seq_lens_decoder.require(0, bsz, "slots of seq_len");
  x_remove_padding.require(0, cpu_token_num, "cpu_token_num");
  batch_id_per_token.require(0, cpu_token_num, "cpu_token_num");
  cu_seqlens_q.require(0, int64_t{bsz} + 1, "slots of seq_len, and 1");
  cu_seqlens_k.require(0, int64_t{bsz} + 1, "slots of seq_len, and 1");
  const bool drafting = draft_tokens.given && draft_tokens.shape[1] > 0;
  if (drafting && !seq_lens_encoder.given) throw ArgumentError("seq_lens_encoder", "required with draft_tokens");
  check_launch("get_padding_offset",
               xpu::get_padding_offset<<<clusters(), cores(), stream>>>(
                   device_data(input_ids), input_ids.shape[1], seq_len.data, bsz,
                   drafting ? device_data(draft_tokens) : nullptr, drafting ? draft_tokens.shape[1] : 0,
                   seq_lens_encoder.data, seq_lens_decoder.data, tokens, device_data(x_remove_padding),
                   batch_id_per_token.data, cu_seqlens_q.data, cu_seqlens_k.data));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(get_padding_offset, opgold::get_padding_offset)
