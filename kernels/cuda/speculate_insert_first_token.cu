// speculate_insert_first_token: packed tokens, a prompt's first one before a prompt chunk's. A thread does a token.
#include "bindings/export.h"
#include "packed_rows.cuh"
#include "slot_buffers.cuh"

namespace opgold {
namespace {

constexpr int kOffsetsPerThread = kLengthsPerThread + 1;  // the offsets of a chunk, and the one behind it, at once

struct Insert {
  int64_t* token_ids;
  int64_t rows;
  const int64_t* accept_tokens;
  int64_t columns;
  const int64_t* next_tokens;
  int64_t next_rows;
  const int32_t* cu_next_token_offset;
  const int32_t* cu_batch_token_offset;
  int64_t bsz;

  __device__ void load(OffsetTable& table, int64_t first, int count) const {
    int32_t starts[kOffsetsPerThread], sources[kOffsetsPerThread];
#pragma unroll
    for (int k = 0; k < kOffsetsPerThread; ++k) {
      const int i = threadIdx.x + k * kThreads;
      if (i > count) continue;
      starts[k] = cu_batch_token_offset[first + i];
      sources[k] = cu_next_token_offset[first + i];
    }
#pragma unroll
    for (int k = 0; k < kOffsetsPerThread; ++k) {
      const int i = threadIdx.x + k * kThreads;
      if (i > count) continue;
      table.starts[i] = starts[k];
      table.sources[i] = sources[k];
    }
    __syncthreads();
  }

  // A prompt chunk is what gives more tokens than it has. One load, whichever token it is: threads of a warp take both.
  __device__ void write(int64_t row, const PackedRow& place) const {
    const bool inserted = place.more && place.index == 0;
    const int64_t source = place.source + place.index - place.more;
    if (inserted ? columns > 0 : source >= 0 && source < next_rows)
      token_ids[row] = *(inserted ? accept_tokens + place.slot * columns : next_tokens + source);
  }
};

// As for_each_packed_row; a row has one owner, whatever the sums.
__global__ void __launch_bounds__(kThreads) insert(Insert op) {
  __shared__ OffsetTable table;
  OwnRows own(RowSplit{kThreads, 1, 1});
  for (int64_t first = 0; first < op.bsz; first += kChunk) {
    if (first > 0) __syncthreads();  // the last chunk's table has been read
    const int count = op.bsz - first < kChunk ? static_cast<int>(op.bsz - first) : kChunk;
    op.load(table, first, count);
    for (; own.row < op.rows && own.row < table.starts[count]; own.row += own.stride) {
      const PackedRow place = table.place(own.row, first, count);
      if (place.slot >= 0) op.write(own.row, place);
    }
  }
}

void speculate_insert_first_token(Stream stream, Tensor<int64_t, 1> token_ids, Tensor<const int64_t, 2> accept_tokens,
                                  Tensor<const int64_t, 1> next_tokens, Tensor<const int32_t, 1> cu_next_token_offset,
                                  Tensor<const int32_t, 1> cu_batch_token_offset,
                                  Tensor<const int32_t, 1> seq_lens_this_time,
                                  Tensor<const int32_t, 1> seq_lens_encoder) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  require_all_slots(seq_lens_encoder.shape[0], bsz, accept_tokens);
  require_rows(cu_next_token_offset, bsz + 1, "slots of seq_lens_this_time, and 1");
  require_rows(cu_batch_token_offset, bsz + 1, "slots of seq_lens_this_time, and 1");
  const Insert op{token_ids.data,    token_ids.shape[0],   accept_tokens.data,
                  accept_tokens.shape[1], next_tokens.data, next_tokens.shape[0],
                  cu_next_token_offset.data, cu_batch_token_offset.data, bsz};
  if (op.rows == 0 || bsz == 0) return;
  const RowSplit one_thread{kThreads, 1, 1};
  insert<<<packed_grid(op.rows, one_thread), kThreads, 0, stream>>>(op);
  check_launch("speculate_insert_first_token");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_insert_first_token, opgold::speculate_insert_first_token)
