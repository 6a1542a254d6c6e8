// draft_model_update_packed: the draft model's rows after one of its steps, one sampled token for each row that ran.
//
// A thread does a slot. Whose a sampled token is hangs on all lengths before it, and lengths are written: a barrier
// parts reading them from writing.
#include <cub/block/block_scan.cuh>

#include "bindings/export.h"
#include "cluster_votes.cuh"
#include "updated_rows.cuh"

namespace opgold {
namespace {

constexpr int kFewWarps = 8;
constexpr ClusterShape kCluster{kFewWarps, kWarp};

// What a row with tokens becomes. Little of it hangs on the token, which may still be on its way.
__device__ void update_row(const UpdatedRows& rows, int64_t slot, const UpdatedRows::Row& row, int64_t token) {
  const bool held = !row.stopped & !row.prompt() & (row.limit == INT64_MIN || row.step >= row.limit - 1);
  const bool moves = !row.stopped & !held;
  const int64_t draft = moves ? token : -1;
  if (moves) rows.advance(slot, row, token);
  if (!held) rows.draft_tokens.put(slot, 0, draft);
  if (!(moves & row.prompt()) | (row.next_step() < row.limit))
    rows.base_model_draft_tokens.row(slot)[rows.column] = draft;
  if (row.stopped | row.prompt()) rows.seq_lens_encoder[slot] = 0;
  rows.seq_lens_this_time[slot] = !row.stopped;
}

// For at most kFewWarps * kWarp slots. Each warp looks at all lengths. A row's token is asked for as if all rows before
// it had tokens, and again if not.
__global__ void __launch_bounds__(kFewWarps * kWarp) update_few(UpdatedRows rows, const bool* stop_flags) {
  const int bsz = static_cast<int>(rows.bsz), slot = cluster_thread(), warp = slot / kWarp, lane = slot % kWarp;
  UpdatedRows::Row row{};
  int32_t lengths[kFewWarps];
  bool stopped[kFewWarps];
#pragma unroll
  for (int w = 0; w < kFewWarps; ++w)
    lengths[w] = w * kWarp + lane < bsz ? rows.seq_lens_this_time[w * kWarp + lane] : 0;
  if (slot < bsz) row = rows.read(stop_flags, slot);
  int64_t token = rows.token(slot, true);
#pragma unroll
  for (int w = 0; w < kFewWarps; ++w)  // for the flag, which the first warp sets
    stopped[w] = warp > 0 || w * kWarp + lane >= bsz || stop_flags[w * kWarp + lane];
  __syncwarp();
  if (bsz > kFewWarps * kWarp) return;  // never: the compiler uses nothing loaded above before a barrier and a branch

  int rank = 0;
  bool going_on = false;
#pragma unroll
  for (int w = 0; w < kFewWarps; ++w) {
    const unsigned acting = __ballot_sync(~0u, lengths[w] > 0);
    rank += __popc(acting & (w < warp ? ~0u : w == warp ? (1u << lane) - 1 : 0u));
    going_on |= lengths[w] > 0 && !stopped[w];
  }
  cluster_arrive();  // the ballots are done: all lengths have been read
  const bool acts = row.this_time > 0;
  if (acts && rank != slot) token = rows.token(rank, true);
  going_on = __any_sync(~0u, going_on);
  cluster_wait();
  if (acts) update_row(rows, slot, row, token);
  if (slot == 0) rows.not_need_stop[0] = going_on;
}

__global__ void __launch_bounds__(kMostThreads) update_slots(UpdatedRows rows, const bool* stop_flags) {
  using Scan = cub::BlockScan<unsigned, kMostThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  int going_on = 0;
  int64_t before = 0;
  for (int64_t chunk = 0; chunk < rows.bsz; chunk += kMostThreads) {
    const int64_t slot = chunk + threadIdx.x;
    UpdatedRows::Row row{};
    if (slot < rows.bsz) row = rows.read(stop_flags, slot);
    const bool acts = row.this_time > 0;
    unsigned rank, acting;
    Scan(storage).ExclusiveSum(unsigned(acts), rank, acting);
    if (acts) update_row(rows, slot, row, rows.token(before + rank, true));
    going_on |= acts && !row.stopped;
    before += acting;
    if (chunk + kMostThreads < rows.bsz) __syncthreads();  // `storage` is used again
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
  if (rows.bsz > kFewWarps * kWarp) update_slots<<<1, kMostThreads, 0, stream>>>(rows, stop_flags.data);
  else launch_cluster(kCluster, stream, rows.bsz, update_few, rows, stop_flags.data);
  check_launch("draft_model_update_packed");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_update_packed, opgold::draft_model_update_packed)
