// draft_model_postprocess: how many tokens the base model verifies after a round of drafts.
#include <cub/block/block_reduce.cuh>

#include "bindings/export.h"
#include "draft_rows.cuh"

namespace opgold {
namespace {

constexpr int64_t kWideRow = 8 * kWarp;  // wider draft rows are counted by a block

struct Postprocess {
  Rows<const int64_t> drafts;
  int32_t* base_model_seq_lens_this_time;
  const int32_t* base_model_seq_lens_encoder;
  const bool* base_model_stop_flags;
  int64_t bsz;

  // What one thread of `threads` sees.
  __device__ int count(int64_t slot, int thread, int threads) const {
    const int64_t* row = drafts.row(slot);
    int found = 0;
    for (int64_t column = thread; column < drafts.width; column += threads) found += row[column] != -1;
    return found;
  }

  __device__ void set(int64_t slot, bool stopped, int32_t encoder, int count) const {
    if (stopped) base_model_seq_lens_this_time[slot] = 0;
    else if (encoder == 0) base_model_seq_lens_this_time[slot] = count;
  }
};

__global__ void __launch_bounds__(kRowThreads) count_narrow_rows(Postprocess op) {
  const int64_t slot = blockIdx.x * int64_t(kRowsPerBlock) + threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  if (slot >= op.bsz) return;
  const bool stopped = op.base_model_stop_flags[slot];
  const int32_t encoder = op.base_model_seq_lens_encoder[slot];
  int found = op.count(slot, lane, kWarp);
  for (int apart = kWarp / 2; apart > 0; apart /= 2) found += __shfl_down_sync(~0u, found, apart);
  if (lane == 0) op.set(slot, stopped, encoder, found);
}

__global__ void __launch_bounds__(kRowThreads) count_wide_rows(Postprocess op) {
  using Reduce = cub::BlockReduce<int, kRowThreads>;
  __shared__ typename Reduce::TempStorage storage;
  const int64_t slot = blockIdx.x;
  const int found = Reduce(storage).Sum(op.count(slot, threadIdx.x, kRowThreads));
  if (threadIdx.x == 0)
    op.set(slot, op.base_model_stop_flags[slot], op.base_model_seq_lens_encoder[slot], found);
}

void draft_model_postprocess(Stream stream, Tensor<const int64_t, 2> base_model_draft_tokens,
                             Tensor<int32_t, 1> base_model_seq_lens_this_time,
                             Tensor<const int32_t, 1> base_model_seq_lens_encoder,
                             Tensor<const bool, 1> base_model_stop_flags) {
  const int64_t bsz = base_model_draft_tokens.shape[0];
  base_model_seq_lens_this_time.require(0, bsz, "slots of base_model_draft_tokens");
  base_model_seq_lens_encoder.require(0, bsz, "slots of base_model_draft_tokens");
  base_model_stop_flags.require(0, bsz, "slots of base_model_draft_tokens");
  if (bsz == 0) return;
  const Postprocess op{rows_of(base_model_draft_tokens), base_model_seq_lens_this_time.data,
                       base_model_seq_lens_encoder.data, base_model_stop_flags.data, bsz};
  if (op.drafts.width <= kWideRow) count_narrow_rows<<<blocks_of_rows(bsz), kRowThreads, 0, stream>>>(op);
  else count_wide_rows<<<static_cast<unsigned>(bsz), kRowThreads, 0, stream>>>(op);
  check_launch("draft_model_postprocess");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_postprocess, opgold::draft_model_postprocess)
