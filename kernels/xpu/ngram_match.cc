// ngram_match: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/ngram_launches.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void ngram_match(int phase, int places, const Int64* token_ids_all, Int64 width,
                                         const Int64* prompt_lens, const Int64* step_idx, const int* draft_token_num,
                                         Int64* draft_tokens, Int64 max_draft, int* seq_lens_this_time,
                                         const int* seq_lens_encoder, const int* seq_lens_decoder,
                                         const Int64* max_dec_len, int bsz, Int64 max_ngram, Int64 threshold,
                                         Int64 history_layout);

}  // namespace xpu

namespace {

void ngram_match(Stream stream, Tensor<const int64_t, 2> token_ids_all, Tensor<const int64_t, 1> prompt_lens,
                 Tensor<const int64_t, 1> step_idx, Tensor<const int32_t, 1> draft_token_num,
                 Tensor<int64_t, 2> draft_tokens, Tensor<int32_t, 1> seq_lens_this_time,
                 Tensor<const int32_t, 1> seq_lens_encoder, Tensor<const int32_t, 1> seq_lens_decoder,
                 Tensor<const int64_t, 1> max_dec_len, int64_t max_ngram_size, int64_t, int64_t threshold,
                 int64_t history_layout) {
  const int bsz = count_of(seq_lens_this_time, 0);
  const int64_t width = token_ids_all.shape[1];
  require_layout(history_layout);
  require_rows(prompt_lens, bsz, "slots of seq_lens_this_time");
  require_each(prompt_lens.shape[0], "slots of prompt_lens", token_ids_all, step_idx, draft_token_num, draft_tokens,
               seq_lens_encoder, seq_lens_decoder, max_dec_len);
  if (bsz == 0) return;
  launch_ngrams(width + 1, 2, [&](int clusters, NgramPhase phase, int places) {
    check_launch("ngram_match",
                 xpu::ngram_match<<<clusters, cores(), stream>>>(
                     phase, places, device_data(token_ids_all), width, device_data(prompt_lens), device_data(step_idx),
                     draft_token_num.data, device_data(draft_tokens), draft_tokens.shape[1], seq_lens_this_time.data,
                     seq_lens_encoder.data, seq_lens_decoder.data, device_data(max_dec_len), bsz, max_ngram_size,
                     threshold, history_layout));
  });
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(ngram_match, opgold::ngram_match)
