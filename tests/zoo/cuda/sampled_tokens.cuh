// The launcher of naive_update_model_status; the exhibit defines what becomes of a slot's row, `take`.
#pragma once

#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kThreads = 128;

struct Sampled {
  int64_t* accepted;
  int32_t* accept_num;
  int32_t* this_time;
  const int64_t* tokens;
  const int32_t* sums;
  int64_t bsz, columns, count;
};

// Gives the slot the token of its last output row, `row`, which is -1 where no slot has had one yet.
__device__ void take(const Sampled& op, int64_t slot, bool running, int64_t row);

__global__ void take_all(Sampled op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot >= op.bsz) return;
  const bool running = op.this_time[slot] > 0;
  if (op.columns > 0) take(op, slot, running, int64_t(op.sums[slot + 1]) - 1);
  op.accept_num[slot] = running;
  op.this_time[slot] = running;
}

void naive_update_model_status(Stream stream, Tensor<int64_t, 2> accepted, Tensor<int32_t, 1> accept_num,
                               Tensor<int32_t, 1> this_time, Tensor<const int64_t, 1> tokens,
                               Tensor<const int32_t, 1> sums) {
  const int64_t bsz = this_time.shape[0];
  if (bsz > accept_num.shape[0] || bsz >= sums.shape[0]) throw ArgumentError("seq_lens_this_time", "has too many slots");
  if (bsz == 0) return;
  const Sampled op{accepted.data, accept_num.data, this_time.data,    tokens.data,
                   sums.data,     bsz,             accepted.shape[1], tokens.shape[0]};
  take_all<<<static_cast<unsigned>((bsz + kThreads - 1) / kThreads), kThreads, 0, stream>>>(op);
  check_launch("naive_update_model_status");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(naive_update_model_status, opgold::naive_update_model_status)
