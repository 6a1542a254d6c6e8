// speculate_set_stop_value_multi_seqs: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_set_stop_value_multi_seqs(
    Int64* accept_tokens, Int64 max_draft, int* accept_num, const Int64* token_ids_all, Int64 width,
    const Int64* prompt_lens, const Int64* step_idx, const bool* stop_flags, const Int64* stop_seqs, Int64 sequences,
    Int64 max_stop, const int* stop_seqs_len, const Int64* end_ids, const Int64* min_tokens, Int64 bsz,
    int history_layout);

}  // namespace xpu

namespace {

void speculate_set_stop_value_multi_seqs(Stream stream, Tensor<int64_t, 2> accept_tokens,
                                         Tensor<int32_t, 1> accept_num, Tensor<const int64_t, 2> token_ids_all,
                                         Tensor<const int64_t, 1> prompt_lens, Tensor<const int64_t, 1> step_idx,
                                         Tensor<const bool, 1> stop_flags, Tensor<const int32_t, 1>,
                                         Tensor<const int64_t, 3> stop_seqs, Tensor<const int32_t, 2> stop_seqs_len,
                                         Tensor<const int64_t, 1> end_ids, Tensor<const int64_t, 1> min_tokens,
                                         int64_t history_layout) {
  const int64_t bsz = accept_tokens.shape[0];
  require_layout(history_layout);
  require_each(bsz, "slots of accept_tokens", prompt_lens, accept_num, token_ids_all, step_idx, stop_flags, stop_seqs,
               stop_seqs_len, min_tokens);
  stop_seqs_len.require(1, stop_seqs.shape[1], "sequences of stop_seqs");
  if (bsz == 0 || stop_seqs.shape[1] == 0 || end_ids.shape[0] == 0) return;
  check_launch("speculate_set_stop_value_multi_seqs",
               xpu::speculate_set_stop_value_multi_seqs<<<clusters(), cores(), stream>>>(
                   device_data(accept_tokens), accept_tokens.shape[1], accept_num.data, device_data(token_ids_all),
                   token_ids_all.shape[1], device_data(prompt_lens), device_data(step_idx), stop_flags.data,
                   device_data(stop_seqs), stop_seqs.shape[1], stop_seqs.shape[2], stop_seqs_len.data,
                   device_data(end_ids), device_data(min_tokens), bsz, static_cast<int>(history_layout)));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_set_stop_value_multi_seqs, opgold::speculate_set_stop_value_multi_seqs)
