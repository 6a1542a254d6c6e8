// speculate_get_accept_tokens_and_logits: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_get_accept_tokens_and_logits(
    Int64* token_ids, Int64 token_rows, char* target_logits, Int64 target_rows, const char* logits, Int64 logits_rows,
    Int64 row_bytes, const int* cu_batch_token_offset, const int* cu_seqlens_q_output, int bsz,
    const Int64* accept_tokens, Int64 columns);

}  // namespace xpu

namespace {

void speculate_get_accept_tokens_and_logits(
    Stream stream, Tensor<int64_t, 1> token_ids, Tensor<float, 2> target_logits, Tensor<const float, 2> logits,
    Tensor<const int32_t, 1> cu_batch_token_offset, Tensor<const int32_t, 1> cu_seqlens_q_output,
    Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> seq_lens_encoder,
    Tensor<const int32_t, 1> accept_num, Tensor<const int64_t, 2> accept_tokens) {
  const int bsz = count_of(seq_lens_this_time, 0);
  const int64_t width = logits.shape[1];
  require_all_slots(seq_lens_encoder.shape[0], bsz, accept_num, accept_tokens);
  require_rows(cu_batch_token_offset, int64_t{bsz} + 1, "slots of seq_lens_this_time, and 1");
  require_rows(cu_seqlens_q_output, int64_t{bsz} + 1, "slots of seq_lens_this_time, and 1");
  target_logits.require(1, width, "columns of logits");
  if (bsz == 0) return;
  check_launch("speculate_get_accept_tokens_and_logits",
               xpu::speculate_get_accept_tokens_and_logits<<<clusters(), cores(), stream>>>(
                   device_data(token_ids), token_ids.shape[0], raw_bytes(target_logits), target_logits.shape[0],
                   raw_bytes(logits), logits.shape[0], width * int64_t(sizeof(float)), cu_batch_token_offset.data,
                   cu_seqlens_q_output.data, bsz, device_data(accept_tokens), accept_tokens.shape[1]));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_get_accept_tokens_and_logits, opgold::speculate_get_accept_tokens_and_logits)
