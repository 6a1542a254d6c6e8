// Rows that whole blocks move, each block one that it finds itself: little stands between finding and loading it.
#pragma once

#include "rows.cuh"

namespace opgold {

constexpr int kBlockThreads = 256;
constexpr int kBlockWarps = kBlockThreads / 32;

// Rows of `input`, and of `out`, of which `chunks` blocks write one.
template <class Element>
struct BlockRows {
  static constexpr int64_t kShare = kBlockThreads * kVectorsPerThread;  // vectors of a block

  const Element* input;
  int64_t input_rows;
  Element* out;
  int64_t rows;
  int64_t width;
  int64_t chunks;
  unsigned vectors;  // of a row, if all rows are whole vectors, aligned, and all counts small; else 0

  template <class T>
  BlockRows(const Tensor<const T, 2>& from, const Tensor<T, 2>& to)
      : input(reinterpret_cast<const Element*>(from.data)),
        input_rows(from.shape[0]),
        out(reinterpret_cast<Element*>(to.data)),
        rows(to.shape[0]),
        width(to.shape[1]) {
    const int64_t bytes = width * int64_t(sizeof(Element)), whole = up_to_multiple(bytes, sizeof(uint4));
    const uintptr_t starts = reinterpret_cast<uintptr_t>(input) | reinterpret_cast<uintptr_t>(out);
    chunks = up_to_multiple(whole, kShare);
    const bool small = chunks <= kGridLimit && input_rows <= UINT32_MAX && rows <= UINT32_MAX;
    const bool aligned = (starts | uintptr_t(bytes)) % sizeof(uint4) == 0;
    vectors = small && aligned ? static_cast<unsigned>(whole) : 0;
  }
  unsigned grid_chunks() const {
    return static_cast<unsigned>(chunks < 1 ? 1 : chunks < kGridLimit ? chunks : kGridLimit);
  }

  // The calling block's part of row `row` of `out`, by a launch of blocks x `grid_chunks()`: row `source` of `input`,
  // or zeros unless that is `held`.
  __device__ void write(int64_t row, int64_t source, bool held) const {
    if (vectors == 0) return write_unaligned(row, source, held);
    const unsigned first = blockIdx.y * unsigned(kShare) + threadIdx.x;
    const uint4* from = reinterpret_cast<const uint4*>(input) + uint64_t(uint32_t(source)) * vectors + first;
    uint4* to = reinterpret_cast<uint4*>(out) + uint64_t(uint32_t(row)) * vectors + first;
    uint4 values[kVectorsPerThread];
#pragma unroll
    for (int k = 0; k < kVectorsPerThread; ++k) {
      values[k] = make_uint4(0, 0, 0, 0);
      if (held && first + k * kBlockThreads < vectors) values[k] = from[k * kBlockThreads];
    }
#pragma unroll
    for (int k = 0; k < kVectorsPerThread; ++k)
      if (first + k * kBlockThreads < vectors) to[k * kBlockThreads] = values[k];
  }

 private:
  __device__ void write_unaligned(int64_t row, int64_t source, bool held) const {
    for (int64_t chunk = blockIdx.y; chunk < chunks; chunk += gridDim.y)
      write_row(held ? input + source * width : nullptr, out + row * width, width,
                {chunk * kBlockThreads + threadIdx.x, chunks * kBlockThreads});
  }
};

// Rows of which each block writes a full share of vectors, so that no vector is checked: for some of the BlockRows.
template <int kThreads>
struct WholeRows {
  static constexpr unsigned kShare = kThreads * kVectorsPerThread;

  const uint4* input;
  unsigned input_rows;
  uint4* out;
  unsigned rows;
  unsigned vectors;

  template <class Element>
  explicit WholeRows(const BlockRows<Element>& all)
      : input(reinterpret_cast<const uint4*>(all.input)),
        input_rows(static_cast<unsigned>(all.input_rows)),
        out(reinterpret_cast<uint4*>(all.out)),
        rows(static_cast<unsigned>(all.rows)),
        vectors(all.vectors) {}

  bool possible() const { return vectors != 0 && vectors % kShare == 0 && shares() <= kGridLimit; }
  unsigned shares() const { return vectors / kShare; }

  // The calling block's share, by a launch of blocks x shares(), of row `row` of `out`.
  __device__ void copy(unsigned row, unsigned source) const {
    const uint4* from = input + share(source);
    uint4* to = out + share(row);
    uint4 values[kVectorsPerThread];
#pragma unroll
    for (int k = 0; k < kVectorsPerThread; ++k) values[k] = from[k * kThreads];
#pragma unroll
    for (int k = 0; k < kVectorsPerThread; ++k) to[k * kThreads] = values[k];
  }
  __device__ void zero(unsigned row) const {
    uint4* to = out + share(row);
#pragma unroll
    for (int k = 0; k < kVectorsPerThread; ++k) to[k * kThreads] = make_uint4(0, 0, 0, 0);
  }

 private:
  __device__ uint64_t share(unsigned row) const {
    return uint64_t(row) * vectors + (blockIdx.y * kShare + threadIdx.x);
  }
};

}  // namespace opgold
