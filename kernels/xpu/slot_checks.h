// What launchers check of buffers with a row for each slot, and of attributes that ops share.
#pragma once

#include "bindings/device.h"

namespace opgold {

// Each tensor has a row for each of `slots`; `meaning` says whose they are.
template <class... Tensors>
void require_each(int64_t slots, const char* meaning, const Tensors&... tensors) {
  (tensors.require(0, slots, meaning), ...);
}

// Each tensor has a row for each of `slots`, of which this step runs `bsz`.
template <class... Tensors>
void require_all_slots(int64_t slots, int64_t bsz, const Tensors&... tensors) {
  if (bsz > slots)
    throw ArgumentError("seq_lens_this_time", bsz, " slots, expected at most the ", slots, " that there are");
  require_each(slots, "slots", tensors...);
}

// `tensor` has at least `needed` rows.
template <class T, int Rank>
void require_rows(const Tensor<T, Rank>& tensor, int64_t needed, const char* meaning) {
  if (tensor.shape[0] < needed)
    throw ArgumentError(tensor.name, tensor.shape[0], " rows, expected at least ", needed, " (", meaning, ")");
}

inline void require_layout(int64_t history_layout) {
  if (history_layout != 0 && history_layout != 1)
    throw ArgumentError("history_layout", "is ", history_layout, ", expected 0 (count) or 1 (index)");
}

// A block size, and how many tokens the next two rounds of drafts may add: the latter is returned.
inline unsigned require_look_ahead(int64_t block_size, int64_t max_draft_tokens) {
  constexpr int64_t most_drafts = (int64_t{1} << 30) - 1;  // so that a length and its look-ahead fit 32 bits
  if (block_size < 1 || block_size > INT32_MAX)
    throw ArgumentError("block_size", block_size, ", expected 1 to 2^31-1");
  if (max_draft_tokens < 0 || max_draft_tokens > most_drafts)
    throw ArgumentError("max_draft_tokens", max_draft_tokens, ", expected 0 to 2^30-1");
  return static_cast<unsigned>(2 * max_draft_tokens + 2);
}

}  // namespace opgold
