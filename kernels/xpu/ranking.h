// The greatest values of a row, in order: a core ranks its pieces of the row.
#pragma once

#include "xpu/device.h"

namespace opgold {
namespace xpu {

const int kRanks = 32;              // that are held at a time
const int kRankedPiece = 2048;      // bytes that a core holds of a row at a time; there are two pieces
const Int64 kAboveAll = ~0ull >> 1;  // no key is as great

union FloatBits {
  float value;
  unsigned bits;
};

// A positive value and its id as one number: greater values are greater, of equal values those of lower ids. 0: none.
static inline __device__ Int64 ranking_key(float value, Int64 id) {
  FloatBits key;
  key.value = value;
  return (Int64)key.bits << 32 | (Int64)(~(unsigned)id);
}
static inline __device__ float value_of(Int64 key) {
  FloatBits found;
  found.bits = (unsigned)(key >> 32);
  return found.value;
}
static inline __device__ Int64 id_of(Int64 key) { return (Int64)(~(unsigned)key); }

// The `wanted` greatest keys of those offered, 1 to kRanks, falling.
struct Ranks {
  int wanted;
  Int64 keys[kRanks];

  __device__ void clear(int count) {
    wanted = count;
    for (int rank = 0; rank < wanted; ++rank) keys[rank] = 0;
  }
  // A value must exceed it to enter, if equal ones with lower ids are there.
  __device__ float threshold() const { return value_of(keys[wanted - 1]); }
  // Whether the key enters.
  __device__ bool insert(Int64 key) {
    int rank = wanted - 1;
    if (key <= keys[rank]) return false;
    for (; rank > 0 && keys[rank - 1] < key; --rank) keys[rank] = keys[rank - 1];
    keys[rank] = key;
    return true;
  }
};

// Offers what is positive in the calling core's pieces of a row, in rising ids, as far as its key is below `below`. The
// next piece is loaded meanwhile. The cores of a cluster share the row.
template <class T>
static inline __device__ void rank_pieces(__global_ptr__ const T* row, Int64 width, Int64 below, Ranks& ranks) {
  const int piece = kRankedPiece / (int)sizeof(T);
  T pieces[2][piece];
  const Int64 step = (Int64)core_num() * piece;
  Int64 at = (Int64)core_id() * piece;
  int turn = 0;
  if (at < width) GM2LM_ASYNC(row + at, pieces[0], (int)min((Int64)piece, width - at) * (int)sizeof(T));
  for (; at < width; at += step) {
    mfence_lm();  // this piece has come, the other one has been read
    const Int64 next = at + step;
    if (next < width)
      GM2LM_ASYNC(row + next, pieces[1 - turn], (int)min((Int64)piece, width - next) * (int)sizeof(T));
    const int count = (int)min((Int64)piece, width - at);
    float threshold = ranks.threshold();
    for (int i = 0; i < count; ++i) {
      const float value = static_cast<float>(pieces[turn][i]);
      if (!(value > threshold)) continue;
      const Int64 key = ranking_key(value, at + i);
      if (key < below && ranks.insert(key)) threshold = ranks.threshold();
    }
    turn = 1 - turn;
  }
  mfence_lm();  // all pieces have been read
}

}  // namespace xpu
}  // namespace opgold
