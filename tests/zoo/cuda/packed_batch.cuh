// The launcher of get_padding_offset; the exhibit defines what a row and a slot do, `fill_row` and `sum_slot`.
#pragma once

#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kThreads = 128;

struct Batch {
  const int64_t* input_ids;
  const int64_t* drafts;  // null: none
  const int32_t* lengths;
  const int32_t* encoder;
  const int32_t* cached;  // null: none
  int64_t* ids;
  int32_t* batch_ids;
  int32_t* sums_q;
  int32_t* sums_k;
  int64_t bsz, width, draft_width, tokens;

  __device__ bool drafted(int64_t slot) const { return drafts && encoder[slot] == 0; }
  __device__ int64_t token(int64_t slot, int64_t i) const {
    if (i >= (drafted(slot) ? draft_width : width)) return 2;
    return drafted(slot) ? drafts[slot * draft_width + i] : input_ids[slot * width + i];
  }
};

__device__ void fill_row(const Batch& op, int64_t row);
__device__ void sum_slot(const Batch& op, int64_t slot);

__global__ void fill_rows(Batch op) {
  const int64_t row = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (row < op.tokens) fill_row(op, row);
}
__global__ void sum_slots(Batch op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot <= op.bsz) sum_slot(op, slot);
}

// The slot of a packed row and its index there; slot -1 behind the last one.
__device__ int64_t place(const Batch& op, int64_t row, int64_t& index) {
  int64_t start = 0;
  for (int64_t slot = 0; slot < op.bsz; start += op.lengths[slot++]) {
    index = row - start;
    if (index >= 0 && index < op.lengths[slot]) return slot;
  }
  return -1;
}
// The sum of the lengths before a slot; sums of values from data wrap.
__device__ int32_t sum_before(const int32_t* lengths, int64_t slot) {
  uint32_t sum = 0;
  while (slot > 0) sum += lengths[--slot];
  return static_cast<int32_t>(sum);
}

void get_padding_offset(Stream stream, Tensor<const int64_t, 2> input_ids, Tensor<const int32_t, 1> lengths,
                        Optional<Tensor<const int64_t, 2>> drafts, Optional<Tensor<const int32_t, 1>> encoder,
                        Optional<Tensor<const int32_t, 1>> cached, Tensor<int64_t, 1> ids,
                        Tensor<int32_t, 1> batch_ids, Tensor<int32_t, 1> sums_q, Tensor<int32_t, 1> sums_k,
                        int64_t tokens) {
  const bool drafting = drafts.given && drafts.shape[1] > 0;
  if (drafting && !encoder.given) throw ArgumentError("seq_lens_encoder", "required with draft_tokens");
  const Batch op{input_ids.data,   drafting ? drafts.data : nullptr, lengths.data, encoder.data, cached.data,
                 ids.data,         batch_ids.data,                   sums_q.data,  sums_k.data,  lengths.shape[0],
                 input_ids.shape[1], drafting ? drafts.shape[1] : 0, tokens};
  sum_slots<<<static_cast<unsigned>(op.bsz / kThreads + 1), kThreads, 0, stream>>>(op);
  if (tokens > 0) fill_rows<<<static_cast<unsigned>((tokens + kThreads - 1) / kThreads), kThreads, 0, stream>>>(op);
  check_launch("get_padding_offset");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(get_padding_offset, opgold::get_padding_offset)
