// hybrid_mtp_ngram: more drafts, from a slot's own text, behind those that a draft model has made.
#include "bindings/export.h"
#include "ngram.cuh"

namespace opgold {
namespace {

struct HybridNgram {
  Rows<const int64_t> input_ids;
  const int64_t* input_ids_len;
  Rows<const int64_t> pre_ids;
  const int64_t* step_idx;
  Rows<int64_t> draft_tokens;
  int32_t* seq_lens_this_time;
  const int64_t* max_dec_len;
  int64_t bsz;
  int64_t max_ngram;
  int64_t min_ngram;
  int64_t max_drafts;
  int64_t threshold;
  int64_t history_layout;

  __device__ int64_t base(int64_t slot) const { return seq_lens_this_time[slot]; }

  __device__ SeenText text(int64_t slot, int64_t base) const {
    const int64_t prompt = input_ids_len[slot], step = step_idx[slot], limit = max_dec_len[slot];
    if (base <= 0 || prompt < 0 || prompt > input_ids.width || step < 0 || step > pre_ids.width - history_layout)
      return {};
    const int64_t room = wrapping_difference(max_drafts, base - 1), left = wrapping_difference(limit, step + 1);
    return {input_ids.row(slot), prompt, pre_ids.row(slot), step, history_layout, room < left ? room : left};
  }
};

void hybrid_mtp_ngram(Stream stream, Tensor<const int64_t, 2> input_ids, Tensor<const int64_t, 1> input_ids_len,
                      Tensor<const int64_t, 2> pre_ids, Tensor<const int64_t, 1> step_idx,
                      Tensor<const int32_t, 1> draft_token_num, Tensor<int64_t, 2> draft_tokens,
                      Tensor<int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> seq_lens_decoder,
                      Tensor<const int64_t, 1> max_dec_len, int64_t max_ngram_size, int64_t min_ngram_size,
                      int64_t max_draft_tokens, int64_t threshold, int64_t history_layout) {
  const int64_t bsz = seq_lens_this_time.shape[0], slots = input_ids_len.shape[0];
  require_layout(history_layout);
  if (min_ngram_size < 1) throw ArgumentError("min_ngram_size", "is ", min_ngram_size, ", expected at least 1");
  if (slots < bsz) throw ArgumentError("input_ids_len", "dimension 0 is ", slots, ", expected at least ", bsz);
  require_same_slots(slots, input_ids, pre_ids, step_idx, draft_token_num, draft_tokens, seq_lens_decoder, max_dec_len);
  const HybridNgram op{rows_of(input_ids),
                       input_ids_len.data,
                       rows_of(pre_ids),
                       step_idx.data,
                       rows_of(draft_tokens),
                       seq_lens_this_time.data,
                       max_dec_len.data,
                       bsz,
                       max_ngram_size,
                       min_ngram_size,
                       max_draft_tokens,
                       threshold,
                       history_layout};
  launch_ngrams(stream, op, input_ids.shape[1] + pre_ids.shape[1] + 1, draft_tokens.shape[1]);
  check_launch("hybrid_mtp_ngram");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(hybrid_mtp_ngram, opgold::hybrid_mtp_ngram)
