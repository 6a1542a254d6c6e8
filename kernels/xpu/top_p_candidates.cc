// top_p_candidates: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

template <class T>
__attribute__((global)) void top_p_candidates(const T* probs, Int64 rows, Int64 vocab, const T* top_p, Int64 slots,
                                              const int* batch_id_per_token_output, Int64 candidates, T* verify_scores,
                                              Int64* verify_tokens, int* actual_candidate_lens);

}  // namespace xpu

namespace {

template <class T>
void top_p_candidates(Stream stream, Tensor<const T, 2> probs, Tensor<const T, 1> top_p,
                      Tensor<const int32_t, 1> batch_id_per_token_output, Tensor<T, 2> verify_scores,
                      Tensor<int64_t, 2> verify_tokens, Tensor<int32_t, 1> actual_candidate_lens,
                      int64_t candidates_len, int64_t) {
  const int64_t rows = probs.shape[0], vocab = probs.shape[1];
  if (candidates_len < 1) throw ArgumentError("candidates_len", candidates_len, ", expected at least 1");
  if (vocab > UINT32_MAX) throw ArgumentError("probs", "has ", vocab, " columns, expected fewer than 2^32");
  require_rows(batch_id_per_token_output, rows, "rows of probs");
  require_each(rows, "rows of probs", verify_scores, verify_tokens, actual_candidate_lens);
  verify_scores.require(1, candidates_len, "candidates_len");
  verify_tokens.require(1, candidates_len, "candidates_len");
  if (rows == 0) return;
  check_launch("top_p_candidates",
               xpu::top_p_candidates<T><<<clusters(), cores(), stream>>>(
                   probs.data, rows, vocab, top_p.data, top_p.shape[0], batch_id_per_token_output.data, candidates_len,
                   verify_scores.data, device_data(verify_tokens), actual_candidate_lens.data));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(top_p_candidates, opgold::top_p_candidates<float>, opgold::top_p_candidates<opgold::Half>,
              opgold::top_p_candidates<opgold::BFloat16>)
