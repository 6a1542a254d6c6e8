// hybrid_mtp_ngram: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/ngram_launches.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void hybrid_mtp_ngram(int phase, int places, const Int64* input_ids, Int64 max_prompt,
                                              const Int64* input_ids_len, const Int64* pre_ids, Int64 max_history,
                                              const Int64* step_idx, Int64* draft_tokens, Int64 max_draft,
                                              int* seq_lens_this_time, const Int64* max_dec_len, int bsz,
                                              Int64 max_ngram, Int64 min_ngram, Int64 max_drafts, Int64 threshold,
                                              Int64 history_layout);

}  // namespace xpu

namespace {

void hybrid_mtp_ngram(Stream stream, Tensor<const int64_t, 2> input_ids, Tensor<const int64_t, 1> input_ids_len,
                      Tensor<const int64_t, 2> pre_ids, Tensor<const int64_t, 1> step_idx,
                      Tensor<const int32_t, 1> draft_token_num, Tensor<int64_t, 2> draft_tokens,
                      Tensor<int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> seq_lens_decoder,
                      Tensor<const int64_t, 1> max_dec_len, int64_t max_ngram_size, int64_t min_ngram_size,
                      int64_t max_draft_tokens, int64_t threshold, int64_t history_layout) {
  const int bsz = count_of(seq_lens_this_time, 0);
  const int64_t max_prompt = input_ids.shape[1], max_history = pre_ids.shape[1], max_draft = draft_tokens.shape[1];
  require_layout(history_layout);
  if (min_ngram_size < 1) throw ArgumentError("min_ngram_size", "is ", min_ngram_size, ", expected at least 1");
  require_rows(input_ids_len, bsz, "slots of seq_lens_this_time");
  require_each(input_ids_len.shape[0], "slots of input_ids_len", input_ids, pre_ids, step_idx, draft_token_num,
               draft_tokens, seq_lens_decoder, max_dec_len);
  if (bsz == 0) return;
  launch_ngrams(max_prompt + max_history + 1, max_draft, [&](int clusters, NgramPhase phase, int places) {
    check_launch("hybrid_mtp_ngram",
                 xpu::hybrid_mtp_ngram<<<clusters, cores(), stream>>>(
                     phase, places, device_data(input_ids), max_prompt, device_data(input_ids_len),
                     device_data(pre_ids), max_history, device_data(step_idx), device_data(draft_tokens), max_draft,
                     seq_lens_this_time.data, device_data(max_dec_len), bsz, max_ngram_size, min_ngram_size,
                     max_draft_tokens, threshold, history_layout));
  });
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(hybrid_mtp_ngram, opgold::hybrid_mtp_ngram)
