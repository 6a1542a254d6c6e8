// The cache blocks that a slot needs to decode on.
#pragma once

#include "bindings/device.h"

namespace opgold {

constexpr int64_t kMostDrafts = (int64_t(1) << 30) - 1;  // so that a length and its look-ahead fit 32 bits

struct BlockTables {
  const int32_t* data;
  int64_t columns;
  uint32_t block_size;
  uint32_t ahead;  // tokens that the next two rounds of drafts may add

  static BlockTables of(const Tensor<const int32_t, 2>& tables, int64_t block_size, int64_t max_draft_tokens) {
    if (block_size < 1 || block_size > INT32_MAX)
      throw ArgumentError("block_size", block_size, ", expected 1 to 2^31-1");
    if (max_draft_tokens < 0 || max_draft_tokens > kMostDrafts)
      throw ArgumentError("max_draft_tokens", max_draft_tokens, ", expected 0 to 2^30-1");
    return {tables.data, tables.shape[1], static_cast<uint32_t>(block_size),
            static_cast<uint32_t>(2 * max_draft_tokens + 2)};
  }

  // Whether the block of the token at `position` has a place in the slot's row, and is not allocated. Positions from
  // data wrap.
  __device__ bool lacks(int64_t slot, uint32_t position) const {
    const int64_t column = position / block_size;
    return column < columns && data[slot * columns + column] == -1;
  }
  __device__ bool lacks_look_ahead(int64_t slot, int32_t cached) const {
    return lacks(slot, static_cast<uint32_t>(cached) + ahead);
  }
};

}  // namespace opgold
