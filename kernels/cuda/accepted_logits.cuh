// Logits rows of accepted tokens, and the tokens themselves, packed by given prefix sums.
#pragma once

#include "packed_rows.cuh"

namespace opgold {

struct AcceptedLogits {
  const uint32_t* logits;
  int64_t logits_rows;
  uint32_t* target_logits;
  int64_t target_rows;
  int64_t width;
  const int32_t* cu_batch_token_offset;
  const int32_t* cu_source_offset;
  int64_t bsz;
  const int64_t* accept_tokens;  // of `columns` a slot; null if only logits are asked for
  int64_t columns;
  int64_t* token_ids;
  int64_t token_rows;

  __device__ void write(int64_t row, const PackedRow& place, const RowSplit& split) const {
    const int64_t source = place.source + place.index;
    if (row < target_rows && source >= 0 && source < logits_rows)
      write_chunks(logits + source * width, target_logits + row * width, width, split);
    if (accept_tokens && blockIdx.y == 0 && threadIdx.x % split.lanes == 0 && row < token_rows && place.index < columns)
      token_ids[row] = accept_tokens[place.slot * columns + place.index];
  }
};

__global__ void __launch_bounds__(kThreads, kSummingPerProcessor) move_accepted(AcceptedLogits op, RowSplit split) {
  __shared__ OffsetTable table;
  const int64_t rows = op.token_rows > op.target_rows ? op.token_rows : op.target_rows;
  for_each_packed_row(op.cu_batch_token_offset, op.cu_source_offset, op.bsz, rows, OwnRows(split), table,
                      [&](int64_t row, const PackedRow& place) { op.write(row, place, split); });
}

inline void launch_accepted(Stream stream, const char* name, const AcceptedLogits& op) {
  const int64_t rows = op.token_rows > op.target_rows ? op.token_rows : op.target_rows;
  if (rows == 0 || op.bsz == 0) return;
  const RowSplit split = RowSplit::of_bytes(op.width * int64_t(sizeof(uint32_t)), kThreads);
  move_accepted<<<packed_grid(rows, split), kThreads, 0, stream>>>(op, split);
  check_launch(name);
}

}  // namespace opgold
