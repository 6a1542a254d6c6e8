// Packing of a padded batch: where each slot's tokens come from, and the packed tokens that a core holds.
#pragma once

#include "xpu/summed_rows.h"

namespace opgold {
namespace xpu {

// A slot's tokens: its drafts if there are any and it has no encoder length, else its input ids.
struct TokenSource {
  __global_ptr__ const Int64* input_ids;
  Int64 max_len;
  __global_ptr__ const Int64* draft_tokens;  // null: everything comes from input_ids
  Int64 max_draft;
  __global_ptr__ const int* seq_lens_encoder;

  __device__ bool drafting(int slot) const { return draft_tokens != nullptr && seq_lens_encoder[slot] <= 0; }
};

// Packed ids and batch ids, as repeat_rows takes them: 2 and -1 where no slot has a token.
struct PackedTokens {
  TokenSource source;
  __global_ptr__ Int64* ids;
  __global_ptr__ int* batch_ids;
  Int64 token[kHeldRows];
  int batch[kHeldRows];

  __device__ PackedTokens(const TokenSource& source, __global_ptr__ Int64* ids, __global_ptr__ int* batch_ids)
      : source(source), ids(ids), batch_ids(batch_ids) {}

  __device__ void put(int at, int count, int slot, Int64 index) {
    int held = 0;
    if (slot >= 0) {
      const bool drafted = source.drafting(slot);
      const Int64 width = drafted ? source.max_draft : source.max_len;
      held = index >= width ? 0 : width - index < count ? (int)(width - index) : count;
      __global_ptr__ const Int64* rows = drafted ? source.draft_tokens : source.input_ids;
      if (held > 0) GM2LM(rows + slot * width + index, token + at, held * (int)sizeof(Int64));
    }
    for (int i = 0; i < count; ++i) {
      if (i >= held) token[at + i] = 2;
      batch[at + i] = i < held ? slot : -1;
    }
  }

  __device__ void send(Int64 row, int count) const {
    LM2GM_ASYNC(token, ids + row, count * (int)sizeof(Int64));
    LM2GM(batch, batch_ids + row, count * (int)sizeof(int));
  }
};

}  // namespace xpu
}  // namespace opgold
