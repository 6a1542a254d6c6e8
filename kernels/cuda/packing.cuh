// From lengths to packed rows: prefix sums over slots, and the slot of a packed row.
#pragma once

#include <cub/block/block_scan.cuh>

#include "bindings/device.h"

namespace opgold {

constexpr int kThreads = 256;
constexpr int kLengthsPerThread = 4;
constexpr int kChunk = kThreads * kLengthsPerThread;  // lengths that a block scans in one pass

using LengthScan = cub::BlockScan<uint32_t, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;

inline int blocks_for(int64_t rows) { return static_cast<int>(rows <= 0 ? 1 : (rows + kThreads - 1) / kThreads); }

// Prefix sum of length(0..bsz-1), element 0 included, into `prefix` (bsz + 1 entries, shared or global).
// The whole block takes part, and may read `prefix` afterwards. Sums wrap rather than overflow: lengths come from data.
template <class Length>
__device__ void scan_lengths(Length length, int64_t bsz, int32_t* prefix, LengthScan::TempStorage& storage) {
  uint32_t carry = 0;
  if (threadIdx.x == 0) prefix[0] = 0;
  int64_t chunk = 0;
  do {
    const int64_t first = chunk + threadIdx.x * kLengthsPerThread;
    uint32_t sums[kLengthsPerThread];
    for (int k = 0; k < kLengthsPerThread; ++k) sums[k] = first + k < bsz ? length(first + k) : 0;
    uint32_t total;
    LengthScan(storage).InclusiveSum(sums, sums, total);
    for (int k = 0; k < kLengthsPerThread; ++k)
      if (first + k < bsz) prefix[first + k + 1] = static_cast<int32_t>(carry + sums[k]);
    carry += total;
    chunk += kChunk;
    __syncthreads();  // `storage` is used again, and `prefix` may be read
  } while (chunk < bsz);
}

// The last slot that starts at or before `row`: for prefix sums, the one that holds it. Always in [0, bsz) for bsz > 0,
// also where prefix(b), which comes from data, is no prefix sum. The number of steps hangs on bsz alone, so that only
// loads and comparisons wait for each other.
template <class Prefix, class Index, class Row>
__device__ Index slot_of(Prefix prefix, Index bsz, Row row) {
  Index low = 0;
  for (Index count = bsz; count > 1;) {
    const Index half = count / 2;
    low = prefix(low + half) <= row ? low + half : low;
    count -= half;
  }
  return low;
}

// A packed row's place: its slot and its index there, or slot -1 for a row that no slot holds.
struct Place {
  int64_t slot;
  int64_t index;
};

__device__ inline Place place_of(const int32_t* prefix, int64_t bsz, int64_t row) {
  if (bsz == 0 || bsz > INT32_MAX || row >= INT32_MAX) return {-1, 0};  // past what int32 prefix sums and ids can say
  const int32_t slot = slot_of([=](int32_t b) { return prefix[b]; }, int32_t(bsz), int32_t(row));
  if (row < prefix[slot] || row >= prefix[slot + 1]) return {-1, 0};
  return {slot, row - prefix[slot]};
}

// Rows that a slot gives to sampling: one for a prompt chunk that runs tokens, else one a token.
__device__ inline int32_t output_rows(int32_t tokens, int32_t encoder) {
  return tokens != 0 && encoder != 0 ? 1 : tokens;
}

}  // namespace opgold
