// Moving rows of any width: how threads share them, and the copy of one share.
#pragma once

#include "bindings/device.h"

namespace opgold {

constexpr int kRowThreads = 128;           // of a block that moves rows and does nothing else
constexpr int kVectorsPerThread = 4;       // 16-byte loads in flight
constexpr int kNarrow = 8;                 // threads that fill a memory transaction
constexpr int64_t kGridLimit = 65535;      // of every dimension but the first

inline int64_t up_to_multiple(int64_t count, int64_t unit) { return (count + unit - 1) / unit; }

// `lanes` of a block's `threads`, and as many in each of `chunks` blocks, write a row.
struct RowSplit {
  unsigned threads;
  unsigned lanes;
  int64_t chunks;

  // The narrowest rows get a thread a vector, wider ones four vectors a thread, the widest several blocks.
  static RowSplit of_bytes(int64_t bytes, int threads) {
    const int64_t vectors = up_to_multiple(bytes, sizeof(uint4));
    int64_t lanes = 1;
    while (lanes < threads && lanes * (lanes < kNarrow ? 1 : kVectorsPerThread) < vectors) lanes *= 2;
    return {static_cast<unsigned>(threads), static_cast<unsigned>(lanes), up_to_multiple(vectors, lanes * kVectorsPerThread)};
  }
  int64_t rows_per_block() const { return threads / lanes; }
  unsigned grid_chunks() const { return static_cast<unsigned>(chunks < kGridLimit ? chunks : kGridLimit); }
};

// A thread's part of a row: elements or vectors first, first + stride, ...
struct Share {
  int64_t first;
  int64_t stride;
};

// Writes a share of `target`: what `source` holds, or where that is null, `fill`, a pattern of four bytes. Vectors if
// both can be aligned at once.
template <class Element>
__device__ void write_row(const Element* __restrict__ source, Element* __restrict__ target, int64_t width, Share share,
                          uint32_t fill = 0) {
  constexpr int64_t kPerVector = sizeof(uint4) / sizeof(Element);
  const uintptr_t from = reinterpret_cast<uintptr_t>(source), to = reinterpret_cast<uintptr_t>(target);
  int64_t head = width;  // elements before the first vector
  if (!source || from % sizeof(uint4) == to % sizeof(uint4)) {
    const int64_t misaligned = to % sizeof(uint4) / sizeof(Element);
    const int64_t skip = misaligned ? kPerVector - misaligned : 0;
    if (skip < width) head = skip;
  }
  const int64_t vectors = (width - head) / kPerVector;
  uint4* to_vectors = reinterpret_cast<uint4*>(target + head);

  uint4 held[kVectorsPerThread];
#pragma unroll
  for (int k = 0; k < kVectorsPerThread; ++k) {
    const int64_t v = share.first + k * share.stride;
    held[k] = make_uint4(fill, fill, fill, fill);
    if (source && v < vectors) held[k] = reinterpret_cast<const uint4*>(source + head)[v];
  }
#pragma unroll
  for (int k = 0; k < kVectorsPerThread; ++k) {
    const int64_t v = share.first + k * share.stride;
    if (v < vectors) to_vectors[v] = held[k];
  }
#pragma unroll 4
  for (int64_t i = share.first; i < head; i += share.stride) target[i] = source ? source[i] : Element(fill);
  for (int64_t i = head + vectors * kPerVector + share.first; i < width; i += share.stride)
    target[i] = source ? source[i] : Element(fill);
}

// The calling threads' part of a row, by a launch of (groups of rows) x `split.grid_chunks()` blocks.
template <class Element>
__device__ void write_chunks(const Element* source, Element* target, int64_t width, RowSplit split, uint32_t fill = 0) {
  const unsigned lane = threadIdx.x % split.lanes;
  for (int64_t chunk = blockIdx.y; chunk < split.chunks; chunk += gridDim.y)
    write_row(source, target, width, {chunk * split.lanes + lane, split.chunks * split.lanes}, fill);
}

// What a row of an output holds: a row of the source, or where `source` is none of them, `fill`.
struct Filling {
  int64_t source = -1;
  uint32_t fill = 0;
};

// Row by row what `filling(row)` says.
template <class Element, class Fillings>
__global__ void __launch_bounds__(kRowThreads)
    fill_rows(Fillings fillings, const Element* sources, int64_t source_rows, Element* out, int64_t rows, int64_t width,
              RowSplit split) {
  const int64_t row = int64_t(blockIdx.x) * (kRowThreads / split.lanes) + threadIdx.x / split.lanes;
  if (row >= rows) return;
  const Filling filling = fillings.filling(row);
  const bool held = filling.source >= 0 && filling.source < source_rows;
  write_chunks(held ? sources + filling.source * width : nullptr, out + row * width, width, split, filling.fill);
}

template <class Element, class Fillings>
void launch_fill_rows(Stream stream, const Fillings& fillings, const Element* sources, int64_t source_rows,
                      Element* out, int64_t rows, int64_t width) {
  if (rows == 0 || width == 0) return;
  const RowSplit split = RowSplit::of_bytes(width * int64_t(sizeof(Element)), kRowThreads);
  const dim3 grid(static_cast<unsigned>(up_to_multiple(rows, split.rows_per_block())), split.grid_chunks());
  fill_rows<<<grid, kRowThreads, 0, stream>>>(fillings, sources, source_rows, out, rows, width, split);
}

}  // namespace opgold
