// speculate_insert_first_token: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void speculate_insert_first_token(Int64* token_ids, Int64 rows, const Int64* accept_tokens,
                                                          Int64 columns, const Int64* next_tokens, Int64 next_rows,
                                                          const int* cu_next_token_offset,
                                                          const int* cu_batch_token_offset, int bsz);

}  // namespace xpu

namespace {

void speculate_insert_first_token(Stream stream, Tensor<int64_t, 1> token_ids, Tensor<const int64_t, 2> accept_tokens,
                                  Tensor<const int64_t, 1> next_tokens, Tensor<const int32_t, 1> cu_next_token_offset,
                                  Tensor<const int32_t, 1> cu_batch_token_offset,
                                  Tensor<const int32_t, 1> seq_lens_this_time,
                                  Tensor<const int32_t, 1> seq_lens_encoder) {
  const int bsz = count_of(seq_lens_this_time, 0);
  require_all_slots(seq_lens_encoder.shape[0], bsz, accept_tokens);
  require_rows(cu_next_token_offset, int64_t{bsz} + 1, "slots of seq_lens_this_time, and 1");
  require_rows(cu_batch_token_offset, int64_t{bsz} + 1, "slots of seq_lens_this_time, and 1");
  if (bsz == 0) return;
  check_launch("speculate_insert_first_token",
               xpu::speculate_insert_first_token<<<clusters(), cores(), stream>>>(
                   device_data(token_ids), token_ids.shape[0], device_data(accept_tokens), accept_tokens.shape[1],
                   device_data(next_tokens), next_tokens.shape[0], cu_next_token_offset.data,
                   cu_batch_token_offset.data, bsz));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_insert_first_token, opgold::speculate_insert_first_token)
