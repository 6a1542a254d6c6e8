// speculate_pre_process: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_pre_process(const Int64* input_ids, Int64 max_len, const int* seq_len, int bsz,
                                                   const Int64* draft_tokens, Int64 max_draft,
                                                   const int* seq_lens_encoder, int token_num, int output_cells,
                                                   Int64* ids_remove_padding, int* batch_id_per_token,
                                                   int* cu_seqlens_q, int* cu_seqlens_k, int* cu_seqlens_q_output,
                                                   int* batch_id_per_token_output, int* real_output_token_num);

}  // namespace xpu

namespace {

void speculate_pre_process(Stream stream, Tensor<const int64_t, 2> input_ids, Tensor<const int32_t, 1> seq_len,
                           Tensor<const int64_t, 2> draft_tokens, Tensor<const int32_t, 1> seq_lens_encoder,
                           Tensor<const int32_t, 1> seq_lens_decoder, Tensor<int64_t, 1> ids_remove_padding,
                           Tensor<int32_t, 1> batch_id_per_token, Tensor<int32_t, 1> cu_seqlens_q,
                           Tensor<int32_t, 1> cu_seqlens_k, Tensor<int32_t, 1> cu_seqlens_q_output,
                           Tensor<int32_t, 1> batch_id_per_token_output, Tensor<int32_t, 1> real_output_token_num,
                           int64_t cpu_token_num) {
  const int bsz = count_of(seq_len, 0);
  const int64_t max_draft = draft_tokens.shape[1];
  require_each(bsz, "slots of seq_len", input_ids, draft_tokens, seq_lens_encoder, seq_lens_decoder);
  require_each(cpu_token_num, "cpu_token_num", ids_remove_padding, batch_id_per_token);
  require_each(int64_t{bsz} + 1, "slots of seq_len, and 1", cu_seqlens_q, cu_seqlens_k, cu_seqlens_q_output);
  batch_id_per_token_output.require(0, bsz * max_draft, "cells of draft_tokens");
  real_output_token_num.require(0, 1, "one count");
  check_launch("speculate_pre_process",
               xpu::speculate_pre_process<<<clusters(), cores(), stream>>>(
                   device_data(input_ids), input_ids.shape[1], seq_len.data, bsz, device_data(draft_tokens), max_draft,
                   seq_lens_encoder.data, count_of(ids_remove_padding, 0), count_of(batch_id_per_token_output, 0),
                   device_data(ids_remove_padding), batch_id_per_token.data, cu_seqlens_q.data, cu_seqlens_k.data,
                   cu_seqlens_q_output.data, batch_id_per_token_output.data, real_output_token_num.data));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_pre_process, opgold::speculate_pre_process)
