// Where each slot's segment starts, on two sides at once: in packed rows that are read, and in rows that are written.
#pragma once

#include "packing.cuh"

namespace opgold {

// Rows read and rows written, of one slot or of all slots before one.
struct Span {
  uint32_t consumed;
  uint32_t emitted;

  template <class Spans>
  __device__ Span span(const Spans&) const {
    return *this;
  }
};

// Sums wrap rather than overflow: lengths come from data.
struct AddSpans {
  __device__ Span operator()(const Span& a, const Span& b) const {
    return {a.consumed + b.consumed, a.emitted + b.emitted};
  }
};

constexpr int kSummingBlocks = 528;  // four on each processor of an H200: each of them sums all lengths

inline int summing_blocks(int64_t groups) {
  return groups < 1 ? 1 : groups < kSummingBlocks ? static_cast<int>(groups) : kSummingBlocks;
}

using SpanScan = cub::BlockScan<Span, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;

// The starts of up to kChunk slots in turn, in shared memory. There is no scratch memory for more, so that a block goes
// through all chunks of a larger batch itself.
struct SpanTable {
  SpanScan::TempStorage storage;
  Span starts[kChunk + 1];  // of slots first, first + 1, ..., and behind the last

  // Fills `starts` for the `count` slots from `first` on. The whole block takes part, and may read them afterwards.
  // `spans` gives a slot's Span or, so that no arithmetic stands between a thread's loads, raw lengths, whose Span is
  // span(spans). Where all of them are 0, it is empty.
  template <class Spans>
  __device__ void scan(Spans spans, int64_t first, int count, Span before) {
    using Lengths = decltype(spans(first));
    Lengths loaded[kLengthsPerThread];
    Span sums[kLengthsPerThread];
    const int own = threadIdx.x * kLengthsPerThread;
    for (int k = 0; k < kLengthsPerThread; ++k) loaded[k] = own + k < count ? spans(first + own + k) : Lengths{};
    for (int k = 0; k < kLengthsPerThread; ++k) sums[k] = loaded[k].span(spans);
    SpanScan(storage).InclusiveScan(sums, sums, AddSpans{});
    for (int k = 0; k < kLengthsPerThread; ++k) starts[own + k + 1] = AddSpans{}(before, sums[k]);
    if (threadIdx.x == 0) starts[0] = before;
    __syncthreads();
  }

  // The slot, counted from the chunk's first one, that holds the written `row`, which lies in the chunk.
  __device__ int slot_at(uint32_t row, int count) const {
    return slot_of([this](int slot) { return starts[slot].emitted; }, count, row);
  }
};

// Calls `chunk(first, count)` for each chunk of slots with its `table` filled; returns the sums over all slots. A batch
// without slots has one empty chunk.
template <class Spans, class Chunk>
__device__ Span for_each_chunk(Spans spans, int64_t bsz, SpanTable& table, Chunk chunk) {
  Span before{0, 0};
  int64_t first = 0;
  do {
    if (first > 0) __syncthreads();  // the last chunk's table has been read
    const int count = bsz - first < kChunk ? static_cast<int>(bsz - first) : kChunk;
    table.scan(spans, first, count, before);
    chunk(first, count);
    before = table.starts[count];
    first += kChunk;
  } while (first < bsz);
  return before;
}

}  // namespace opgold
