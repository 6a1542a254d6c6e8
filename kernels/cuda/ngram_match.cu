// ngram_match: drafts from a slot's own text.
#include "bindings/export.h"
#include "ngram.cuh"

namespace opgold {
namespace {

struct NgramMatch {
  const int64_t* token_ids_all;
  int64_t width;
  const int64_t* prompt_lens;
  const int64_t* step_idx;
  const int32_t* draft_token_num;
  Rows<int64_t> draft_tokens;
  int32_t* seq_lens_this_time;
  const int32_t* seq_lens_encoder;
  const int32_t* seq_lens_decoder;
  const int64_t* max_dec_len;
  int64_t bsz;
  int64_t max_ngram;
  int64_t min_ngram;
  int64_t threshold;
  int64_t history_layout;

  __device__ int64_t base(int64_t slot) const {
    const int32_t tokens = seq_lens_this_time[slot], encoder = seq_lens_encoder[slot], decoder = seq_lens_decoder[slot];
    return encoder > 0 ? tokens : decoder != 0;
  }

  __device__ SeenText text(int64_t slot, int64_t) const {
    const int32_t encoder = seq_lens_encoder[slot], decoder = seq_lens_decoder[slot], drafts = draft_token_num[slot];
    const int64_t prompt = prompt_lens[slot], step = step_idx[slot], limit = max_dec_len[slot];
    if (encoder > 0 || decoder == 0 || prompt < 0 || prompt > width - history_layout || step < 0 ||
        step > width - history_layout - prompt)
      return {};
    const int64_t left = wrapping_difference(limit, step + 1);
    const int64_t* const row = token_ids_all + slot * width;
    return {row, prompt, row + prompt, step, history_layout, drafts < left ? drafts : left};
  }
};

void ngram_match(Stream stream, Tensor<const int64_t, 2> token_ids_all, Tensor<const int64_t, 1> prompt_lens,
                 Tensor<const int64_t, 1> step_idx, Tensor<const int32_t, 1> draft_token_num,
                 Tensor<int64_t, 2> draft_tokens, Tensor<int32_t, 1> seq_lens_this_time,
                 Tensor<const int32_t, 1> seq_lens_encoder, Tensor<const int32_t, 1> seq_lens_decoder,
                 Tensor<const int64_t, 1> max_dec_len, int64_t max_ngram_size, int64_t, int64_t threshold,
                 int64_t history_layout) {
  const int64_t bsz = seq_lens_this_time.shape[0], width = token_ids_all.shape[1];
  require_layout(history_layout);
  require_at_least(prompt_lens.shape[0], bsz);
  require_same_slots(prompt_lens.shape[0], token_ids_all, step_idx, draft_token_num, draft_tokens, seq_lens_encoder,
                     seq_lens_decoder, max_dec_len);
  const NgramMatch op{token_ids_all.data,
                      width,
                      prompt_lens.data,
                      step_idx.data,
                      draft_token_num.data,
                      rows_of(draft_tokens),
                      seq_lens_this_time.data,
                      seq_lens_encoder.data,
                      seq_lens_decoder.data,
                      max_dec_len.data,
                      bsz,
                      max_ngram_size,
                      1,
                      threshold,
                      history_layout};
  launch_ngrams(stream, op, width + 1, 2);
  check_launch("ngram_match");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(ngram_match, opgold::ngram_match)
