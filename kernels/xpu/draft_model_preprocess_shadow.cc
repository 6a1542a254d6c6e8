// draft_model_preprocess_shadow: the launcher.
#include "bindings/export.h"
#include "xpu/draft_checks.h"
#include "xpu/integers.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void draft_model_preprocess_shadow(
    Int64* draft_tokens, Int64 max_draft, Int64* input_ids, Int64 max_len, Int64* pre_ids, Int64 max_history,
    const Int64* accept_tokens, Int64 max_accept, Int64* target_model_draft_tokens, Int64 target_draft,
    bool* stop_flags, int* seq_lens_this_time, int* seq_lens_encoder, int* seq_lens_decoder, Int64* step_idx,
    bool* not_need_stop, const int* accept_num, const int* target_model_seq_lens_decoder,
    const Int64* target_model_step_idx, const bool* target_model_stop_flags, const Int64* max_dec_len, Int64 bsz,
    int num_model_step, bool is_splitwise_prefill);

}  // namespace xpu

namespace {

void draft_model_preprocess_shadow(
    Stream stream, Tensor<int64_t, 2> draft_tokens, Tensor<int64_t, 2> input_ids, Tensor<bool, 1> stop_flags,
    Tensor<int32_t, 1> seq_lens_this_time, Tensor<int32_t, 1> seq_lens_encoder, Tensor<int32_t, 1> seq_lens_decoder,
    Tensor<int64_t, 1> step_idx, Tensor<bool, 1> not_need_stop, Tensor<int64_t, 2> pre_ids,
    Tensor<const int64_t, 2> accept_tokens, Tensor<const int32_t, 1> accept_num,
    Tensor<const int32_t, 1> target_model_seq_lens_encoder, Tensor<const int32_t, 1> target_model_seq_lens_decoder,
    Tensor<const int64_t, 1> target_model_step_idx, Tensor<const bool, 1> target_model_stop_flags,
    Tensor<const int64_t, 1> max_dec_len, Tensor<int64_t, 2> target_model_draft_tokens, int32_t num_model_step,
    bool is_splitwise_prefill) {
  const int64_t bsz = draft_tokens.shape[0];
  require_each(bsz, "slots of draft_tokens", input_ids, stop_flags, seq_lens_this_time, seq_lens_encoder,
               seq_lens_decoder, step_idx, pre_ids, accept_tokens, accept_num, target_model_seq_lens_encoder,
               target_model_seq_lens_decoder, target_model_step_idx, target_model_stop_flags, max_dec_len,
               target_model_draft_tokens);
  not_need_stop.require(0, 1, "one flag");
  require_model_steps(num_model_step);
  check_launch("draft_model_preprocess_shadow",
               xpu::draft_model_preprocess_shadow<<<clusters(), cores(), stream>>>(
                   device_data(draft_tokens), draft_tokens.shape[1], device_data(input_ids), input_ids.shape[1],
                   device_data(pre_ids), pre_ids.shape[1], device_data(accept_tokens), accept_tokens.shape[1],
                   device_data(target_model_draft_tokens), target_model_draft_tokens.shape[1], stop_flags.data,
                   seq_lens_this_time.data, seq_lens_encoder.data, seq_lens_decoder.data, device_data(step_idx),
                   not_need_stop.data, accept_num.data, target_model_seq_lens_decoder.data,
                   device_data(target_model_step_idx), target_model_stop_flags.data, device_data(max_dec_len), bsz,
                   num_model_step, is_splitwise_prefill));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_preprocess_shadow, opgold::draft_model_preprocess_shadow)
