// Packing of a padded batch: where each slot's tokens come from, and the tokens of a stretch of slots.
#pragma once

#include "xpu/slot_sums.h"

namespace opgold {
namespace xpu {

const int kTokens = 256;  // that a core writes at a time

// A slot's tokens: its drafts if there are any and it has no encoder length, else its input ids.
struct TokenSource {
  __global_ptr__ const Int64* input_ids;
  Int64 max_len;
  __global_ptr__ const Int64* draft_tokens;  // null: everything comes from input_ids
  Int64 max_draft;
  __global_ptr__ const int* seq_lens_encoder;

  __device__ bool drafting(int slot) const { return draft_tokens != nullptr && seq_lens_encoder[slot] <= 0; }
};

// Writes the calling core's share of the packed tokens [first, end): ids and batch ids, 2 and -1 where no slot has one.
// `starts` are those of `slots` slots from `first_slot` on; with no slots all tokens are without one.
static inline __device__ void pack_tokens(const TokenSource& source, _shared_ptr_ const int* starts, int first_slot,
                                          int slots, int first, int end, __global_ptr__ Int64* ids,
                                          __global_ptr__ int* batch_ids) {
  Int64 token[kTokens];
  int batch[kTokens];
  int begin, stop;
  partition(core_index(), all_cores(), end > first ? end - first : 0, 1, &begin, &stop);
  for (int at = first + begin; at < first + stop; at += kTokens) {
    const int count = min(kTokens, first + stop - at);
    for (int k = 0; k < count;) {
      const int row = at + k;
      int run = count - k;
      const int slot = slots > 0 ? slot_of(starts, slots, row) : 0;
      if (slots > 0 && row >= starts[slot] && row < starts[slot + 1]) {
        run = min(run, starts[slot + 1] - row);
        const bool drafted = source.drafting(first_slot + slot);
        const Int64 width = drafted ? source.max_draft : source.max_len;
        const Int64 index = row - starts[slot];
        const int held = index >= width ? 0 : width - index < run ? (int)(width - index) : run;
        if (held > 0) {
          __global_ptr__ const Int64* row_ids = drafted ? source.draft_tokens : source.input_ids;
          GM2LM(row_ids + (first_slot + slot) * width + index, token + k, held * (int)sizeof(Int64));
        }
        for (int i = 0; i < run; ++i) {
          if (i >= held) token[k + i] = 2;
          batch[k + i] = i < held ? first_slot + slot : -1;
        }
      } else {
        for (int i = 0; i < run; ++i) {
          token[k + i] = 2;
          batch[k + i] = -1;
        }
      }
      k += run;
    }
    mfence_lm();
    LM2GM_ASYNC(token, ids + at, count * (int)sizeof(Int64));
    LM2GM(batch, batch_ids + at, count * (int)sizeof(int));
    mfence_lm();
  }
}

}  // namespace xpu
}  // namespace opgold
