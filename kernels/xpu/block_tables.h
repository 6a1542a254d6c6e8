// The cache blocks that a slot needs to decode on.
#pragma once

#include "xpu/device.h"

namespace opgold {
namespace xpu {

struct BlockTables {
  __global_ptr__ const int* data;
  Int64 columns;
  unsigned block_size;
  unsigned ahead;  // tokens that the next two rounds of drafts may add

  // Whether the block of the token at `position` has a place in the slot's row, and is not allocated. Positions from
  // data wrap.
  __device__ bool lacks(Int64 slot, unsigned position) const {
    const Int64 column = position / block_size;
    return column < columns && data[slot * columns + column] == -1;
  }
  __device__ bool lacks_look_ahead(Int64 slot, int cached) const { return lacks(slot, (unsigned)cached + ahead); }
};

}  // namespace xpu
}  // namespace opgold
