// naive_update_model_status: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void naive_update_model_status(Int64* accept_tokens, Int64 max_accept, int* accept_num,
                                                       int* seq_lens_this_time, const Int64* next_tokens,
                                                       Int64 sampled, const int* cu_seqlens_q_output, Int64 bsz);

}  // namespace xpu

namespace {

void naive_update_model_status(Stream stream, Tensor<int64_t, 2> accept_tokens, Tensor<int32_t, 1> accept_num,
                               Tensor<int32_t, 1> seq_lens_this_time, Tensor<const int64_t, 1> next_tokens,
                               Tensor<const int32_t, 1> cu_seqlens_q_output) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  require_all_slots(accept_num.shape[0], bsz, accept_tokens);
  require_rows(cu_seqlens_q_output, bsz + 1, "slots of seq_lens_this_time, and 1");
  if (bsz == 0) return;
  check_launch("naive_update_model_status",
               xpu::naive_update_model_status<<<clusters(), cores(), stream>>>(
                   device_data(accept_tokens), accept_tokens.shape[1], accept_num.data, seq_lens_this_time.data,
                   device_data(next_tokens), next_tokens.shape[0], cu_seqlens_q_output.data, bsz));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(naive_update_model_status, opgold::naive_update_model_status)
