// The launcher of draft_model_set_value_by_flags; the exhibit defines what a slot does, `write`.
#pragma once

#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kThreads = 128;

struct History {
  const int64_t* draft_tokens;
  int64_t* pre_ids;
  const bool* stop_flags;
  int32_t* this_time;
  const int64_t* step_idx;
  int64_t bsz, drafts, columns;

  // The tokens of the slot that go to its history; they end at its step.
  __device__ int64_t run(int64_t slot) const {
    const int64_t wanted = step_idx[slot] > 1 ? this_time[slot] : step_idx[slot] == 1 ? 1 : 0;
    return wanted < drafts ? wanted : drafts;
  }
  __device__ bool acts(int64_t slot) const { return this_time[slot] != 0 && !stop_flags[slot]; }
  __device__ bool in_row(int64_t column) const { return column >= 0 && column < columns; }
};

__device__ void write(const History& op, int64_t slot);

__global__ void write_all(History op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot < op.bsz) write(op, slot);
}

void set_value(Stream stream, Tensor<const int64_t, 2> draft_tokens, Tensor<int64_t, 2> pre_ids,
               Tensor<const bool, 1> stop_flags, Tensor<int32_t, 1> this_time, Tensor<const int32_t, 1>,
               Tensor<const int32_t, 1>, Tensor<const int64_t, 1> step_idx) {
  const int64_t bsz = draft_tokens.shape[0];
  if (bsz == 0) return;
  const History op{draft_tokens.data, pre_ids.data, stop_flags.data,       this_time.data,
                   step_idx.data,     bsz,          draft_tokens.shape[1], pre_ids.shape[1]};
  write_all<<<static_cast<unsigned>((bsz + kThreads - 1) / kThreads), kThreads, 0, stream>>>(op);
  check_launch("draft_model_set_value_by_flags");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_set_value_by_flags, opgold::set_value)
