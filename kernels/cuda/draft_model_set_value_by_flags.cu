// draft_model_set_value_by_flags: the history of a draft row after its step. A warp does a slot.
#include "bindings/export.h"
#include "draft_rows.cuh"

namespace opgold {
namespace {

struct History {
  Rows<const int64_t> draft_tokens;
  Rows<int64_t> pre_ids_all;
  const bool* stop_flags;
  int32_t* seq_lens_this_time;
  const int64_t* step_idx;
  int64_t bsz;

  // Every lane has the row's length before lane 0 writes it.
  __device__ void write(int64_t slot, int lane) const {
    const int32_t this_time = seq_lens_this_time[slot];
    const bool stopped = stop_flags[slot];
    const int64_t step = step_idx[slot];
    int64_t token = draft_tokens.get(slot, lane, 0);
    __syncwarp();

    if (this_time == 0 || stopped) return;
    const int64_t run = step > 1 ? this_time : step == 1 ? 1 : 0;
    const int64_t end = run < draft_tokens.width ? run : draft_tokens.width;
    const int64_t begin = wrapping_difference(step, run - 1);
    for (int64_t i = lane; i < end;) {
      pre_ids_all.put(slot, wrapping_sum(begin, i), token);
      i += kWarp;
      if (i < end) token = draft_tokens.row(slot)[i];
    }
    if (lane == 0) seq_lens_this_time[slot] = 1;
  }
};

__global__ void __launch_bounds__(kRowThreads) write_history(History op) {
  const int64_t slot = blockIdx.x * int64_t(kRowsPerBlock) + threadIdx.x / kWarp;
  if (slot < op.bsz) op.write(slot, threadIdx.x % kWarp);
}

void draft_model_set_value_by_flags(Stream stream, Tensor<const int64_t, 2> draft_tokens,
                                    Tensor<int64_t, 2> pre_ids_all, Tensor<const bool, 1> stop_flags,
                                    Tensor<int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> seq_lens_encoder,
                                    Tensor<const int32_t, 1> seq_lens_decoder, Tensor<const int64_t, 1> step_idx) {
  const int64_t bsz = draft_tokens.shape[0];
  require_slots(bsz, pre_ids_all, stop_flags, seq_lens_this_time, seq_lens_encoder, seq_lens_decoder, step_idx);
  if (bsz == 0) return;
  const History op{rows_of(draft_tokens), rows_of(pre_ids_all), stop_flags.data, seq_lens_this_time.data,
                   step_idx.data,         bsz};
  write_history<<<blocks_of_rows(bsz), kRowThreads, 0, stream>>>(op);
  check_launch("draft_model_set_value_by_flags");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_set_value_by_flags, opgold::draft_model_set_value_by_flags)
