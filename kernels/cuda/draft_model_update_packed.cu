// draft_model_update_packed: the draft model's rows after one of its steps, one sampled token for each row that ran.
//
// A thread does a slot, and one block all of them: whose a sampled token is hangs on lengths that are written. A
// barrier parts reading them from writing.
#include <cub/block/block_scan.cuh>

#include "bindings/export.h"
#include "updated_rows.cuh"

namespace opgold {
namespace {

constexpr int kFewThreads = 256;

// `rank` rows with tokens stand before this one.
__device__ void update_row(const UpdatedRows& rows, int64_t slot, const UpdatedRows::Row& row, int64_t rank) {
  if (row.stopped) {
    rows.set_drafts(slot, -1);
    rows.seq_lens_encoder[slot] = 0;
  } else if (row.prompt()) {
    const int64_t token = rows.token(rank);
    const int64_t step = rows.advance(slot, row, token);
    rows.seq_lens_encoder[slot] = 0;
    rows.draft_tokens.put(slot, 0, token);
    if (step < row.limit) rows.base_model_draft_tokens.row(slot)[rows.column] = token;
  } else if (row.limit == INT64_MIN || row.step >= row.limit - 1) {
    rows.base_model_draft_tokens.row(slot)[rows.column] = -1;
  } else {
    const int64_t token = rows.token(rank);
    rows.advance(slot, row, token);
    rows.set_drafts(slot, token);
  }
  rows.seq_lens_this_time[slot] = row.stopped ? 0 : 1;
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads) update_slots(UpdatedRows rows, const bool* stop_flags) {
  using Scan = cub::BlockScan<unsigned, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  int going_on = 0;
  int64_t before = 0;
  for (int64_t chunk = 0; chunk < rows.bsz; chunk += kThreads) {
    const int64_t slot = chunk + threadIdx.x;
    UpdatedRows::Row row{};
    if (slot < rows.bsz) row = rows.read(stop_flags, slot);
    const bool acts = row.this_time > 0;
    unsigned rank, acting;
    Scan(storage).ExclusiveSum(unsigned(acts), rank, acting);
    if (acts) update_row(rows, slot, row, before + rank);
    going_on |= acts && !row.stopped;
    before += acting;
    if (chunk + kThreads < rows.bsz) __syncthreads();  // `storage` is used again
  }
  going_on = __syncthreads_or(going_on);
  if (threadIdx.x == 0) rows.not_need_stop[0] = going_on != 0;
}

void draft_model_update_packed(Stream stream, Tensor<const int64_t, 1> inter_next_tokens,
                               Tensor<int64_t, 2> draft_tokens, Tensor<int64_t, 2> pre_ids,
                               Tensor<int32_t, 1> seq_lens_this_time, Tensor<int32_t, 1> seq_lens_encoder,
                               Tensor<int32_t, 1> seq_lens_decoder, Tensor<int64_t, 1> step_idx,
                               Tensor<const int32_t, 1> cu_seqlens_q_output, Tensor<const bool, 1> stop_flags,
                               Tensor<bool, 1> not_need_stop, Tensor<const int64_t, 1> max_dec_len,
                               Tensor<const int64_t, 1>, Tensor<int64_t, 2> base_model_draft_tokens, int64_t,
                               int64_t substep) {
  const UpdatedRows rows = updated_rows(inter_next_tokens, draft_tokens, pre_ids, seq_lens_this_time, seq_lens_encoder,
                                        seq_lens_decoder, step_idx, cu_seqlens_q_output, not_need_stop, max_dec_len,
                                        base_model_draft_tokens, substep);
  require_slots(rows.bsz, stop_flags);
  if (rows.bsz <= kFewThreads) update_slots<kFewThreads><<<1, kFewThreads, 0, stream>>>(rows, stop_flags.data);
  else update_slots<kMostThreads><<<1, kMostThreads, 0, stream>>>(rows, stop_flags.data);
  check_launch("draft_model_update_packed");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_update_packed, opgold::draft_model_update_packed)
