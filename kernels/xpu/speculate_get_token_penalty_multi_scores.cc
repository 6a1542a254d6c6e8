// speculate_get_token_penalty_multi_scores: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

template <class T>
__attribute__((global)) void speculate_get_token_penalty_multi_scores(
    const Int64* token_ids_all, Int64 width, const Int64* prompt_lens, T* logits, Int64 rows, Int64 vocab,
    const T* penalty_scores, const T* frequency_scores, const T* presence_scores, const float* temperatures,
    const Int64* bad_tokens, Int64 max_bad, const Int64* bad_tokens_len, const Int64* cur_len, const Int64* min_len,
    const Int64* eos_token_id, Int64 end_count, const int* batch_id_per_token_output, const int* cu_seqlens_q_output,
    Int64 history_layout, int bsz);

}  // namespace xpu

namespace {

template <class T>
void penalize(Stream stream, Tensor<const int64_t, 2> token_ids_all, Tensor<const int64_t, 1> prompt_lens,
              Tensor<T, 2> logits, Tensor<const T, 1> penalty_scores, Tensor<const T, 1> frequency_scores,
              Tensor<const T, 1> presence_scores, Tensor<const float, 1> temperatures,
              Tensor<const int64_t, 2> bad_tokens, Tensor<const int64_t, 1> bad_tokens_len,
              Tensor<const int64_t, 1> cur_len, Tensor<const int64_t, 1> min_len, Tensor<const int64_t, 1> eos_token_id,
              Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> batch_id_per_token_output,
              Tensor<const int32_t, 1> cu_seqlens_q_output, int64_t, int64_t history_layout) {
  const int bsz = count_of(seq_lens_this_time, 0);
  const int64_t rows = logits.shape[0], vocab = logits.shape[1];
  require_layout(history_layout);
  require_all_slots(prompt_lens.shape[0], bsz, token_ids_all, penalty_scores, frequency_scores, presence_scores,
                    temperatures, bad_tokens, bad_tokens_len, cur_len, min_len);
  cu_seqlens_q_output.require(0, int64_t{bsz} + 1, "slots of seq_lens_this_time, and 1");
  require_rows(batch_id_per_token_output, rows, "rows of logits");
  if (bsz == 0 || rows == 0 || vocab == 0) return;
  check_launch("speculate_get_token_penalty_multi_scores",
               xpu::speculate_get_token_penalty_multi_scores<T><<<clusters(), cores(), stream>>>(
                   device_data(token_ids_all), token_ids_all.shape[1], device_data(prompt_lens), logits.data, rows,
                   vocab, penalty_scores.data, frequency_scores.data, presence_scores.data, temperatures.data,
                   device_data(bad_tokens), bad_tokens.shape[1], device_data(bad_tokens_len), device_data(cur_len),
                   device_data(min_len), device_data(eos_token_id), eos_token_id.shape[0],
                   batch_id_per_token_output.data, cu_seqlens_q_output.data, history_layout, bsz));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_get_token_penalty_multi_scores, opgold::penalize<float>, opgold::penalize<opgold::Half>,
              opgold::penalize<opgold::BFloat16>)
