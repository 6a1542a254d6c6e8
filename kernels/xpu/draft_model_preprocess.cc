// draft_model_preprocess: the launcher.
#include "bindings/export.h"
#include "xpu/draft_checks.h"
#include "xpu/integers.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void draft_model_preprocess(
    Int64* draft_tokens, Int64 max_draft, Int64* input_ids, Int64 max_len, Int64* pre_ids, Int64 max_history,
    const Int64* accept_tokens, Int64 max_accept, Int64* base_model_draft_tokens, Int64 base_draft, bool* stop_flags,
    int* seq_lens_this_time, int* seq_lens_encoder, int* seq_lens_decoder, Int64* step_idx, bool* not_need_stop,
    bool* is_block_step, bool* batch_drop, int* mask_rollback, int* recompute_token_num, const int* accept_num,
    const int* base_model_seq_lens_this_time, const int* base_model_seq_lens_decoder, const Int64* base_model_step_idx,
    const bool* base_model_stop_flags, const bool* base_model_is_block_step, Int64 bsz, int num_model_step,
    bool truncate_first_token, bool splitwise_prefill, bool kvcache_scheduler_v1);

}  // namespace xpu

namespace {

void draft_model_preprocess(
    Stream stream, Tensor<int64_t, 2> draft_tokens, Tensor<int64_t, 2> input_ids, Tensor<bool, 1> stop_flags,
    Tensor<int32_t, 1> seq_lens_this_time, Tensor<int32_t, 1> seq_lens_encoder, Tensor<int32_t, 1> seq_lens_decoder,
    Tensor<int64_t, 1> step_idx, Tensor<bool, 1> not_need_stop, Tensor<bool, 1> is_block_step,
    Tensor<bool, 1> batch_drop, Tensor<int64_t, 2> pre_ids, Tensor<int32_t, 1> mask_rollback,
    Tensor<int32_t, 1> recompute_token_num, Tensor<const int64_t, 2> accept_tokens, Tensor<const int32_t, 1> accept_num,
    Tensor<const int32_t, 1> base_model_seq_lens_this_time, Tensor<const int32_t, 1> base_model_seq_lens_encoder,
    Tensor<const int32_t, 1> base_model_seq_lens_decoder, Tensor<const int64_t, 1> base_model_step_idx,
    Tensor<const bool, 1> base_model_stop_flags, Tensor<const bool, 1> base_model_is_block_step,
    Tensor<int64_t, 2> base_model_draft_tokens, int32_t num_model_step, bool truncate_first_token,
    bool splitwise_prefill, bool kvcache_scheduler_v1) {
  const int64_t bsz = draft_tokens.shape[0];
  require_each(bsz, "slots of draft_tokens", input_ids, stop_flags, seq_lens_this_time, seq_lens_encoder,
               seq_lens_decoder, step_idx, is_block_step, batch_drop, pre_ids, mask_rollback, recompute_token_num,
               accept_tokens, accept_num, base_model_seq_lens_this_time, base_model_seq_lens_encoder,
               base_model_seq_lens_decoder, base_model_step_idx, base_model_stop_flags, base_model_is_block_step,
               base_model_draft_tokens);
  not_need_stop.require(0, 1, "one flag");
  require_model_steps(num_model_step);
  check_launch("draft_model_preprocess",
               xpu::draft_model_preprocess<<<splitwise_prefill ? 1 : clusters(), cores(), stream>>>(
                   device_data(draft_tokens), draft_tokens.shape[1], device_data(input_ids), input_ids.shape[1],
                   device_data(pre_ids), pre_ids.shape[1], device_data(accept_tokens), accept_tokens.shape[1],
                   device_data(base_model_draft_tokens), base_model_draft_tokens.shape[1], stop_flags.data,
                   seq_lens_this_time.data, seq_lens_encoder.data, seq_lens_decoder.data, device_data(step_idx),
                   not_need_stop.data, is_block_step.data, batch_drop.data, mask_rollback.data,
                   recompute_token_num.data, accept_num.data, base_model_seq_lens_this_time.data,
                   base_model_seq_lens_decoder.data, device_data(base_model_step_idx), base_model_stop_flags.data,
                   base_model_is_block_step.data, bsz, num_model_step, truncate_first_token, splitwise_prefill,
                   kvcache_scheduler_v1));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_preprocess, opgold::draft_model_preprocess)
