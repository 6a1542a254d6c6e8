// naive_update_model_status: the sampled token of every slot, where there are no drafts. A thread does a slot.
#include "bindings/export.h"
#include "draft_rows.cuh"
#include "slot_buffers.cuh"

namespace opgold {
namespace {

constexpr int kNaiveThreads = 128;

struct Naive {
  Rows<int64_t> accept_tokens;
  int32_t* accept_num;
  int32_t* seq_lens_this_time;
  const int64_t* next_tokens;
  int64_t sampled;
  const int32_t* cu_seqlens_q_output;
  int64_t bsz;
};

__global__ void __launch_bounds__(kNaiveThreads) take_tokens(Naive op) {
  const int64_t slot = blockIdx.x * int64_t(kNaiveThreads) + threadIdx.x;
  if (slot >= op.bsz) return;
  const bool running = op.seq_lens_this_time[slot] > 0;
  const int64_t row = int64_t(op.cu_seqlens_q_output[slot + 1]) - 1;
  if (running && row >= 0 && row < op.sampled) op.accept_tokens.put(slot, 0, op.next_tokens[row]);
  op.accept_num[slot] = running;
  op.seq_lens_this_time[slot] = running;
}

void naive_update_model_status(Stream stream, Tensor<int64_t, 2> accept_tokens, Tensor<int32_t, 1> accept_num,
                               Tensor<int32_t, 1> seq_lens_this_time, Tensor<const int64_t, 1> next_tokens,
                               Tensor<const int32_t, 1> cu_seqlens_q_output) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  require_all_slots(accept_num.shape[0], bsz, accept_tokens);
  require_rows(cu_seqlens_q_output, bsz + 1, "slots of seq_lens_this_time, and 1");
  if (bsz == 0) return;
  const Naive op{rows_of(accept_tokens), accept_num.data,     seq_lens_this_time.data,
                 next_tokens.data,       next_tokens.shape[0], cu_seqlens_q_output.data,
                 bsz};
  take_tokens<<<static_cast<unsigned>((bsz + kNaiveThreads - 1) / kNaiveThreads), kNaiveThreads, 0, stream>>>(op);
  check_launch("naive_update_model_status");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(naive_update_model_status, opgold::naive_update_model_status)
