// speculate_get_token_penalty_multi_scores: penalties, temperature and suppressed tokens on logits, in place.
//
// A block takes a window of the vocabulary for all rows of a slot: it counts the slot's history in shared memory once,
// then goes through each row's window once. Only tokens that are marked leave the straight path.
#include "bindings/export.h"
#include "history.cuh"

namespace opgold {
namespace {

constexpr unsigned kWindow = 8192;  // tokens
constexpr unsigned kWords = kWindow / 32 + 1;
constexpr int kPenaltyThreads = 256;
constexpr int kInFlight = 4;

template <class T> __device__ T suppressed() { return T(-1e10f); }
template <> __device__ Half suppressed<Half>() { return Half(-1e4f); }

struct WindowMarks {
  uint32_t counts[kWindow];
  uint32_t any[kWords];
  uint32_t end[kWords];
  uint32_t bad[kWords];
};

template <class T>
struct Penalty {
  const int64_t* token_ids_all;
  int64_t width;
  const int64_t* prompt_lens;
  T* logits;
  int64_t rows;
  int64_t vocab;
  const T* penalty_scores;
  const T* frequency_scores;
  const T* presence_scores;
  const float* temperatures;
  const int64_t* bad_tokens;
  int64_t max_bad;
  const int64_t* bad_tokens_len;
  const int64_t* cur_len;
  const int64_t* min_len;
  const int64_t* eos_token_id;
  int64_t end_count;
  const int32_t* batch_id_per_token_output;
  const int32_t* cu_seqlens_q_output;
  int64_t history_layout;

  struct Scores {
    float penalty, frequency, presence, temperature;
  };

  // Calls found(i) for each id that is token first + i of the window.
  template <class Found>
  __device__ static void each_id(const int64_t* ids, int64_t count, int64_t first, unsigned size, Found found) {
    for (int64_t at = threadIdx.x; at < count; at += int64_t(kPenaltyThreads) * kInFlight) {
      int64_t held[kInFlight];
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) {
        const int64_t i = at + k * int64_t(kPenaltyThreads);
        held[k] = i < count ? ids[i] : -1;
      }
#pragma unroll
      for (int k = 0; k < kInFlight; ++k)
        if (held[k] >= first && held[k] < first + size) found(unsigned(held[k] - first));
    }
  }

  __device__ void mark_window(WindowMarks& marks, int64_t slot, int64_t first, unsigned size) const {
    for (unsigned i = threadIdx.x; i < size; i += kPenaltyThreads) marks.counts[i] = 0;
    for (unsigned i = threadIdx.x; i < size / 32 + 2 && i < kWords; i += kPenaltyThreads)
      marks.any[i] = marks.end[i] = marks.bad[i] = 0;
    __syncthreads();
    const int64_t begin = wrapping_sum(prompt_lens[slot], history_layout);
    const Entries history = entries_inside(begin, cur_len[slot], width);
    each_id(token_ids_all + slot * width + history.begin, history.count, first, size, [&](unsigned i) {
      atomicAdd(&marks.counts[i], 1u);
      mark(marks.any, i);
    });
    each_id(eos_token_id, end_count, first, size, [&](unsigned i) {
      mark(marks.end, i);
      mark(marks.any, i);
    });
    const int64_t bad = bad_tokens_len[slot];
    each_id(bad_tokens + slot * max_bad, bad < max_bad ? bad : max_bad, first, size, [&](unsigned i) {
      mark(marks.bad, i);
      mark(marks.any, i);
    });
    __syncthreads();
  }

  // Nothing here may be contracted: the golden model rounds each step.
  __device__ static T marked_value(const WindowMarks& marks, unsigned i, T logit, bool too_short,
                                   const Scores& scores) {
    if (marked(marks.bad, i)) return T(-1e10f);
    float x = float(too_short && marked(marks.end, i) ? suppressed<T>() : logit);
    if (const uint32_t count = marks.counts[i]) {
      x = x < 0 ? __fmul_rn(x, scores.penalty) : __fdiv_rn(x, scores.penalty);
      x = __fsub_rn(__fsub_rn(x, __fmul_rn(float(count), scores.frequency)), scores.presence);
    }
    return T(__fdiv_rn(x, scores.temperature));
  }

  __device__ static void change_one(const WindowMarks& marks, unsigned i, T* row, bool too_short,
                                    const Scores& scores) {
    row[i] = marked(marks.any, i) ? marked_value(marks, i, row[i], too_short, scores)
                                  : T(__fdiv_rn(float(row[i]), scores.temperature));
  }

  // `row` points at the window's first token.
  __device__ static void change_row(const WindowMarks& marks, T* row, unsigned size, bool too_short,
                                    const Scores& scores) {
    using Vector = Pack<T>;
    const unsigned skip = elements_to_alignment(row), head = skip < size ? skip : size;
    const unsigned vectors = (size - head) / Vector::size;
    Vector* const packs = reinterpret_cast<Vector*>(row + head);
    for (unsigned from = threadIdx.x; from < vectors; from += kPenaltyThreads * kInFlight) {
      Vector held[kInFlight];
#pragma unroll
      for (int k = 0; k < kInFlight; ++k)
        if (from + k * kPenaltyThreads < vectors) held[k] = packs[from + k * kPenaltyThreads];
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) {
        const unsigned v = from + k * kPenaltyThreads, base = head + v * Vector::size;
        if (v >= vectors) break;
        Vector out;
#pragma unroll
        for (unsigned e = 0; e < Vector::size; ++e)
          out.values[e] = T(__fdiv_rn(float(held[k].values[e]), scores.temperature));
        // Lanes go through their marked tokens together, whichever of the vector these are.
        for (uint32_t left = marks_from<Vector::size>(marks.any, base); left; left &= left - 1) {
          const unsigned marked_one = unsigned(__ffs(int(left))) - 1;
          T value = held[k].values[0];
#pragma unroll
          for (unsigned e = 1; e < Vector::size; ++e)
            if (e == marked_one) value = held[k].values[e];
          value = marked_value(marks, base + marked_one, value, too_short, scores);
#pragma unroll
          for (unsigned e = 0; e < Vector::size; ++e)
            if (e == marked_one) out.values[e] = value;
        }
        packs[v] = out;
      }
    }
    for (unsigned i = threadIdx.x; i < head; i += kPenaltyThreads) change_one(marks, i, row, too_short, scores);
    for (unsigned i = head + vectors * Vector::size + threadIdx.x; i < size; i += kPenaltyThreads)
      change_one(marks, i, row, too_short, scores);
  }
};

template <class T>
__global__ void __launch_bounds__(kPenaltyThreads) change_windows(Penalty<T> op, unsigned bsz) {
  __shared__ WindowMarks marks;
  const int64_t slot = blockIdx.x % bsz, first = blockIdx.x / bsz * int64_t(kWindow);
  const int64_t first_row = op.cu_seqlens_q_output[slot], past_row = op.cu_seqlens_q_output[slot + 1];
  const int64_t begin = first_row > 0 ? first_row : 0, end = past_row < op.rows ? past_row : op.rows;
  if (begin >= end) return;
  const typename Penalty<T>::Scores scores{float(op.penalty_scores[slot]), float(op.frequency_scores[slot]),
                                           float(op.presence_scores[slot]), op.temperatures[slot]};
  const int64_t generated = op.cur_len[slot], fewest = op.min_len[slot];
  const unsigned size = op.vocab - first < kWindow ? unsigned(op.vocab - first) : kWindow;
  op.mark_window(marks, slot, first, size);
  for (int64_t row = begin; row < end; ++row) {
    if (op.batch_id_per_token_output[row] != slot) continue;  // the row is another slot's, or nobody's
    const bool too_short = generated >= 0 && wrapping_sum(generated, row - first_row) < fewest;
    Penalty<T>::change_row(marks, op.logits + row * op.vocab + first, size, too_short, scores);
  }
}

template <class T>
void penalize(Stream stream, Tensor<const int64_t, 2> token_ids_all, Tensor<const int64_t, 1> prompt_lens,
              Tensor<T, 2> logits, Tensor<const T, 1> penalty_scores, Tensor<const T, 1> frequency_scores,
              Tensor<const T, 1> presence_scores, Tensor<const float, 1> temperatures,
              Tensor<const int64_t, 2> bad_tokens, Tensor<const int64_t, 1> bad_tokens_len,
              Tensor<const int64_t, 1> cur_len, Tensor<const int64_t, 1> min_len, Tensor<const int64_t, 1> eos_token_id,
              Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> batch_id_per_token_output,
              Tensor<const int32_t, 1> cu_seqlens_q_output, int64_t, int64_t history_layout) {
  const int64_t bsz = seq_lens_this_time.shape[0], rows = logits.shape[0], vocab = logits.shape[1];
  require_layout(history_layout);
  require_at_least(prompt_lens.shape[0], bsz);
  require_same_slots(prompt_lens.shape[0], token_ids_all, penalty_scores, frequency_scores, presence_scores,
                     temperatures, bad_tokens, bad_tokens_len, cur_len, min_len);
  cu_seqlens_q_output.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  if (batch_id_per_token_output.shape[0] < rows)
    throw ArgumentError("batch_id_per_token_output", "dimension 0 is ", batch_id_per_token_output.shape[0],
                        ", expected at least ", rows, " (rows of logits)");
  if (bsz == 0 || rows == 0 || vocab == 0) return;
  const Penalty<T> op{token_ids_all.data,    token_ids_all.shape[1],
                      prompt_lens.data,      logits.data,
                      rows,                  vocab,
                      penalty_scores.data,   frequency_scores.data,
                      presence_scores.data,  temperatures.data,
                      bad_tokens.data,       bad_tokens.shape[1],
                      bad_tokens_len.data,   cur_len.data,
                      min_len.data,          eos_token_id.data,
                      eos_token_id.shape[0], batch_id_per_token_output.data,
                      cu_seqlens_q_output.data, history_layout};
  const int64_t blocks = (vocab + kWindow - 1) / kWindow * bsz;
  if (blocks > INT32_MAX) throw ArgumentError("logits", "have ", vocab, " columns, too many for ", bsz, " slots");
  change_windows<T><<<static_cast<unsigned>(blocks), kPenaltyThreads, 0, stream>>>(op, static_cast<unsigned>(bsz));
  check_launch("speculate_get_token_penalty_multi_scores");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_get_token_penalty_multi_scores, opgold::penalize<float>, opgold::penalize<opgold::Half>,
              opgold::penalize<opgold::BFloat16>)
