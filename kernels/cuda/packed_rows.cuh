// Packed rows of all slots, written by few blocks: each of them must know where every slot's rows start.
#pragma once

#include "rows.cuh"
#include "segments.cuh"

namespace opgold {

constexpr int kSummingPerProcessor = 4;  // of the kSummingBlocks, all of which run at once

// A launch of blocks that share rows, and the columns of a row where one is wide.
inline dim3 packed_grid(int64_t rows, const RowSplit& split) {
  const int64_t chunks = split.chunks < 1 ? 1 : split.chunks < kSummingBlocks ? split.chunks : kSummingBlocks;
  const int64_t most = kSummingBlocks / chunks, groups = up_to_multiple(rows, split.rows_per_block());
  return dim3(static_cast<unsigned>(groups < 1 ? 1 : groups < most ? groups : most), static_cast<unsigned>(chunks));
}

// The calling thread's rows: `row`, and every `stride`-th after it.
struct OwnRows {
  int64_t row;
  int64_t stride;
  __device__ explicit OwnRows(const RowSplit& split)
      : row(int64_t(blockIdx.x) * (kThreads / split.lanes) + threadIdx.x / split.lanes),
        stride(int64_t(gridDim.x) * (kThreads / split.lanes)) {}
};

// A written row's slot and its index there, and the row that the slot's sources start at; slot -1 for a row of none.
struct PackedRow {
  int64_t slot;
  int64_t index;
  int64_t source;
  bool more;  // the slot has more rows than sources
};

// Of up to kChunk slots, where their written rows and their sources start, by two prefix sums that are given.
struct OffsetTable {
  int32_t starts[kChunk + 1];
  int32_t sources[kChunk + 1];

  __device__ void load(const int32_t* all_starts, const int32_t* all_sources, int64_t first, int count) {
    for (int i = threadIdx.x; i <= count; i += kThreads) {
      starts[i] = all_starts[first + i];
      sources[i] = all_sources[first + i];
    }
    __syncthreads();
  }

  // `row` in terms of the chunk that begins with slot `first`. The sums come from data: they may fall, and wrap.
  __device__ PackedRow place(int64_t row, int64_t first, int count) const {
    const int slot = slot_of([this](int b) { return starts[b]; }, count, row);
    const int64_t begin = starts[slot], end = starts[slot + 1];
    if (row < begin || row >= end) return {-1, 0, 0, false};
    return {first + slot, row - begin, sources[slot], end - begin > int64_t(sources[slot + 1]) - sources[slot]};
  }
};

// Calls `write(row, place)` for every own row below `rows` that some slot holds. The whole block takes part. A row has
// one owner, whatever the sums.
template <class Write>
__device__ void for_each_packed_row(const int32_t* starts, const int32_t* sources, int64_t bsz, int64_t rows,
                                    OwnRows own, OffsetTable& table, Write write) {
  for (int64_t first = 0; first < bsz; first += kChunk) {
    if (first > 0) __syncthreads();  // the last chunk's table has been read
    const int count = bsz - first < kChunk ? static_cast<int>(bsz - first) : kChunk;
    table.load(starts, sources, first, count);
    for (; own.row < rows && own.row < table.starts[count]; own.row += own.stride) {
      const PackedRow place = table.place(own.row, first, count);
      if (place.slot >= 0) write(own.row, place);
    }
  }
}

}  // namespace opgold
