// speculate_get_logits: packed logits rows, with those of a prompt's first token before a prompt chunk's.
#include "bindings/export.h"
#include "packed_rows.cuh"
#include "slot_buffers.cuh"

namespace opgold {
namespace {

struct GetLogits {
  uint32_t* draft_logits;
  int64_t rows;
  int32_t* next_token_num;
  int32_t* batch_token_num;
  int32_t* cu_next_token_offset;
  int32_t* cu_batch_token_offset;
  const uint32_t* logits;
  int64_t logits_rows;
  const uint32_t* first_token_logits;
  const int32_t* seq_lens_this_time;
  const int32_t* seq_lens_encoder;
  int64_t bsz;
  int64_t width;

  __device__ Span span(int64_t slot) const {
    const int32_t run = seq_lens_this_time[slot], prompt = seq_lens_encoder[slot];
    const uint32_t rows = static_cast<uint32_t>(run);
    return prompt > 0 ? Span{1, 2} : Span{rows, rows};
  }

  __device__ void count(const SpanTable& table, int64_t first, int slots) const {
    for (int slot = threadIdx.x; slot < slots; slot += kThreads) {
      const Span start = table.starts[slot], end = table.starts[slot + 1];
      next_token_num[first + slot] = static_cast<int32_t>(end.consumed - start.consumed);
      batch_token_num[first + slot] = static_cast<int32_t>(end.emitted - start.emitted);
      cu_next_token_offset[first + slot + 1] = static_cast<int32_t>(end.consumed);
      cu_batch_token_offset[first + slot + 1] = static_cast<int32_t>(end.emitted);
    }
  }

  // Where a row comes from, given the slot found for it, which starts at or before it; null for a row that is not there.
  __device__ const uint32_t* source(int64_t slot, const Span& start, const Span& end, int64_t row) const {
    const int64_t index = row - start.emitted;
    const bool prompt = end.emitted - start.emitted != end.consumed - start.consumed;
    if (prompt && index == 0) return first_token_logits + slot * width;
    const int64_t source = int64_t(start.consumed) + index - prompt;
    return source < logits_rows ? logits + source * width : nullptr;
  }
};

__global__ void __launch_bounds__(kThreads, kSummingPerProcessor) get_rows(GetLogits op, RowSplit split) {
  __shared__ SpanTable table;
  OwnRows own(split);
  const bool counts = blockIdx.x == 0 && blockIdx.y == 0;
  if (counts && threadIdx.x == 0) op.cu_next_token_offset[0] = op.cu_batch_token_offset[0] = 0;
  for_each_chunk([&](int64_t slot) { return op.span(slot); }, op.bsz, table, [&](int64_t first, int slots) {
    if (counts) op.count(table, first, slots);
    for (; own.row < op.rows && own.row < table.starts[slots].emitted; own.row += own.stride) {
      const int slot = table.slot_at(static_cast<uint32_t>(own.row), slots);
      const uint32_t* source = op.source(first + slot, table.starts[slot], table.starts[slot + 1], own.row);
      if (source) write_chunks(source, op.draft_logits + own.row * op.width, op.width, split);
    }
  });
}

void speculate_get_logits(Stream stream, Tensor<float, 2> draft_logits, Tensor<int32_t, 1> next_token_num,
                          Tensor<int32_t, 1> batch_token_num, Tensor<int32_t, 1> cu_next_token_offset,
                          Tensor<int32_t, 1> cu_batch_token_offset, Tensor<const float, 2> logits,
                          Tensor<const float, 2> first_token_logits, Tensor<const int32_t, 1> seq_lens_this_time,
                          Tensor<const int32_t, 1> seq_lens_encoder) {
  const int64_t slots = seq_lens_encoder.shape[0], bsz = seq_lens_this_time.shape[0], width = logits.shape[1];
  require_all_slots(slots, bsz, next_token_num, batch_token_num);
  cu_next_token_offset.require(0, slots + 1, "slots, and 1");
  cu_batch_token_offset.require(0, slots + 1, "slots, and 1");
  draft_logits.require(1, width, "columns of logits");
  first_token_logits.require(1, width, "columns of logits");
  require_rows(first_token_logits, bsz, "slots of seq_lens_this_time");
  const GetLogits op{reinterpret_cast<uint32_t*>(draft_logits.data),
                     width == 0 ? 0 : draft_logits.shape[0],
                     next_token_num.data,
                     batch_token_num.data,
                     cu_next_token_offset.data,
                     cu_batch_token_offset.data,
                     reinterpret_cast<const uint32_t*>(logits.data),
                     logits.shape[0],
                     reinterpret_cast<const uint32_t*>(first_token_logits.data),
                     seq_lens_this_time.data,
                     seq_lens_encoder.data,
                     bsz,
                     width};
  const RowSplit split = RowSplit::of_bytes(width * int64_t(sizeof(uint32_t)), kThreads);
  get_rows<<<packed_grid(op.rows, split), kThreads, 0, stream>>>(op, split);
  check_launch("speculate_get_logits");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_get_logits, opgold::speculate_get_logits)
