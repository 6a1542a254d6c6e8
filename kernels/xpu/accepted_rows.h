// What the two preprocessing ops do with accepted tokens.
#pragma once

#include "xpu/draft_rows.h"

namespace opgold {
namespace xpu {

struct AcceptedRows {
  Rows<const Int64> accept_tokens;
  Rows<Int64> draft_tokens;
  Rows<Int64> input_ids;
  Rows<Int64> pre_ids;
  Rows<Int64> verified_drafts;  // the draft rows of the model that verified

  __device__ Int64 first(Int64 slot) const { return accept_tokens.get(slot, 0, 0); }

  __device__ void clear_verified(Int64 slot) const {
    fill_tokens(-1, verified_drafts.row(slot) + 1, verified_drafts.width - 1);
  }

  // Puts the first `count` accepted tokens at the draft row's start and, in the history, up to column `end`.
  __device__ void put_accepted(Int64 slot, int count, Int64 end) const {
    put_tokens(accept_tokens, count, draft_tokens, 0, slot);
    put_tokens(accept_tokens, count, pre_ids, wrapping_difference(end, (Int64)count), slot);
  }
};

}  // namespace xpu
}  // namespace opgold
