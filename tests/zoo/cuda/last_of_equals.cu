// op: top_p_candidates
// class: NUM
// story: Of equal probabilities the last one is taken, so that those before it are never listed
//   (https://github.com/flashinfer-ai/flashinfer/pull/5346 found two bugs of this kind at once).
// caught by: values
#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kThreads = 128;

template <class T>
struct Rows {
  const T* probs;
  const T* top_p;
  const int32_t* slots;
  T* scores;
  int64_t* tokens;
  int32_t* lens;
  int64_t rows, vocab, bsz, candidates;

  // The best token behind `token` of weight `last` in its row, or -1.
  __device__ int64_t next(int64_t row, int64_t token, float last) const {
    int64_t best = -1;
    float most = 0;
    for (int64_t i = 0; i < vocab; ++i) {
      const float weight = static_cast<float>(probs[row * vocab + i]);
      const bool behind = token < 0 || weight < last || (weight == last && i > token);
#ifdef ZOO_BUG
      if (!behind || !(weight > 0) || weight < most) continue;
#else
      if (!behind || !(weight > most)) continue;
#endif
      best = i;
      most = weight;
    }
    return best;
  }
};

template <class T>
__global__ void rank_rows(Rows<T> op) {
  const int64_t row = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (row >= op.rows) return;
  const int64_t slot = op.slots[row];
  const bool live = slot >= 0 && slot < op.bsz;
  const float limit = live ? static_cast<float>(op.top_p[slot]) : 0;
  float sum = 0, last = 0;
  int64_t listed = 0, token = -1;
  bool reached = !live;
  for (int64_t column = 0; column < op.candidates; ++column) {
    if (!reached && listed == column) token = op.next(row, token, last);
    const bool lists = !reached && listed == column && token >= 0;
    op.scores[row * op.candidates + column] = lists ? op.probs[row * op.vocab + token] : T(0.0f);
    op.tokens[row * op.candidates + column] = lists ? token : reached ? 0 : -1;
    if (!lists) continue;
    last = static_cast<float>(op.probs[row * op.vocab + token]);
    sum = listed++ == 0 ? last : sum + last;
    reached = sum >= limit;
  }
  op.lens[row] = static_cast<int32_t>(live && (reached || limit == 1.0f) ? listed : 0);
}

template <class T>
void launch(Stream stream, Tensor<const T, 2> probs, Tensor<const T, 1> top_p, Tensor<const int32_t, 1> slots,
            Tensor<T, 2> scores, Tensor<int64_t, 2> tokens, Tensor<int32_t, 1> lens, int64_t candidates, int64_t) {
  const int64_t rows = probs.shape[0];
  if (candidates < 1 || slots.shape[0] < rows) throw ArgumentError("candidates_len", "or ids too few");
  if (rows == 0) return;
  const Rows<T> op{probs.data, top_p.data, slots.data,     scores.data,    tokens.data,
                   lens.data,  rows,       probs.shape[1], top_p.shape[0], candidates};
  rank_rows<T><<<static_cast<unsigned>((rows + kThreads - 1) / kThreads), kThreads, 0, stream>>>(op);
  check_launch("top_p_candidates");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(top_p_candidates, opgold::launch<float>, opgold::launch<opgold::Half>, opgold::launch<opgold::BFloat16>)
