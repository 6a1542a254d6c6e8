// What the two preprocessing ops do with accepted tokens. A slot's rows are written by its warp alone.
#pragma once

#include "draft_rows.cuh"

namespace opgold {

struct AcceptedRows {
  Rows<const int64_t> accept_tokens;
  Rows<int64_t> draft_tokens;
  Rows<int64_t> input_ids;
  Rows<int64_t> pre_ids;
  Rows<int64_t> verified_drafts;  // the draft rows of the model that verified

  // A lane's first token, read before it is known whether it is accepted, so that nothing waits for that.
  __device__ int64_t first(int64_t slot, int lane) const { return accept_tokens.get(slot, lane, 0); }

  __device__ void clear_verified(int64_t slot, int lane) const {
    for (int64_t column = 1 + lane; column < verified_drafts.width; column += kWarp)
      verified_drafts.row(slot)[column] = -1;
  }

  // Puts the first `count` accepted tokens at the draft row's start and, in the history, up to column `end`.
  __device__ void copy(int64_t slot, int lane, int64_t token, int32_t count, int64_t end) const {
    const int64_t begin = wrapping_difference(end, int64_t(count));
    const int64_t stop = count < accept_tokens.width ? count : accept_tokens.width;
    for (int64_t i = lane; i < stop;) {
      draft_tokens.put(slot, i, token);
      pre_ids.put(slot, wrapping_sum(begin, i), token);
      i += kWarp;
      if (i < stop) token = accept_tokens.row(slot)[i];
    }
  }
};

}  // namespace opgold
