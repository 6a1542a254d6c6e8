// Drafts from a slot's own text, in two launches: clusters search slots, then one shares out the token budget.
//
// Between the two, a slot that found drafts holds where they stand in `seq_lens_this_time`, below 0: there is no other
// memory that an op may write. Where an int cannot say that, one cluster does all slots in turn.
//
// An op gives `bsz`, `seq_lens_this_time`, `draft_tokens`, `max_draft`, `max_ngram`, `min_ngram`, `threshold`, and the
// functions `base(slot)` (the tokens a slot has anyway; below 0 is none) and `text(slot, base)` (what it may search).
#pragma once

#include "xpu/cluster_sums.h"
#include "xpu/copies.h"
#include "xpu/differences.h"
#include "xpu/ngram_phases.h"

namespace opgold {
namespace xpu {

const int kSeen = 128;  // tokens of a text that a core holds at a time

// What a slot has seen. Places count through the prompt and then the generated entries.
struct SeenText {
  __global_ptr__ const Int64* prompt;
  Int64 prompt_len;
  __global_ptr__ const Int64* entries;
  Int64 count;           // entries 0 to count - 1 are searched
  Int64 history_layout;  // the last token is entry count - 1 + history_layout
  Int64 wanted;          // drafts; at most 0: no search

  __device__ Int64 from_end(Int64 back) const { return entries[count - 1 + history_layout - back]; }
  __device__ Int64 found(Int64 place) const {
    return min((place < prompt_len ? prompt_len : prompt_len + count) - place, wanted);
  }
  __device__ __global_ptr__ const Int64* at(Int64 place) const {
    return place < prompt_len ? prompt + place : entries + (place - prompt_len);
  }
};

static inline __device__ SeenText no_text() {
  const SeenText none = {nullptr, 0, nullptr, 0, 0, 0};
  return none;
}

// The place behind an occurrence of the text's last `size` tokens.
struct Match {
  Int64 size;
  Int64 place;
};

// A slot's tokens, and the drafts that were found for it.
struct Wish {
  Int64 base;
  Int64 place;
  Int64 found;

  __device__ Int64 tokens() const { return wrapping_sum(base, found); }
};

const int kTold = 4 * kMostCores;

// What the cores of a cluster tell each other, in kTold words of shared memory.
struct Told {
  _shared_ptr_ Int64* sizes;   // of matches
  _shared_ptr_ Int64* places;  // of matches
  _shared_ptr_ Int64* wishes;  // tokens that a core's slots wish for
  _shared_ptr_ Int64* active;  // a core's slots with tokens
};

// Keeps the better of `best` and the calling core's places in one haystack: longer is better, then what comes first.
static inline __device__ void search_in(const SeenText& text, __global_ptr__ const Int64* haystack, Int64 length,
                                        Int64 offset, Int64 longest, Match* best) {
  Int64 held[kSeen];
  const Int64 last_token = text.from_end(0);
  const int piece = length < (Int64)kSeen * core_num() ? (int)length / core_num() + 1 : kSeen;
  for (Int64 from = (Int64)core_id() * piece; from + 1 < length; from += (Int64)core_num() * piece) {
    const int count = (int)min((Int64)piece, length - 1 - from);
    GM2LM(haystack + from, held, count * (int)sizeof(Int64));
    for (int k = 0; k < count; ++k) {
      if (held[k] != last_token) continue;
      const Int64 at = from + k;
      Int64 size = 1;
      while (size < longest && size <= at && haystack[at - size] == text.from_end(size)) ++size;
      if (size <= best->size) continue;
      best->size = size;
      best->place = offset + at + 1;
    }
    mfence_lm();
  }
}

// The best match of a slot, of size 0 where there is none. All cores of the cluster take part and get it.
template <class Op>
static inline __device__ Match find_match(const Op& op, const SeenText& text, const Told& told) {
  Match best = {0, 0};
  const Int64 longest = min(op.max_ngram, text.count);
  if (text.wanted > 0 && longest >= op.min_ngram) {
    search_in(text, text.prompt, text.prompt_len, 0, longest, &best);
    search_in(text, text.entries, text.count, text.prompt_len, longest, &best);
  }
  told.sizes[core_id()] = best.size;
  told.places[core_id()] = best.place;
  mfence_sm();
  sync_cluster();
  for (int core = 0; core < core_num(); ++core) {
    const Int64 size = told.sizes[core];
    if (size < best.size || size == 0) continue;
    const Int64 place = told.places[core];
    if (size > best.size || place < best.place) best.place = place;
    best.size = size;
  }
  sync_cluster();
  if (best.size < op.min_ngram) best.size = 0;
  return best;
}

// Puts the drafts into a slot's row that its budget allows, and returns the slot's tokens. The slots before have spent
// `spent` tokens, each of those `behind` with tokens needs one. Cores may share a row.
template <class Op>
static inline __device__ int take_drafts(const Op& op, Int64 slot, const SeenText& text, const Wish& wish, Int64 spent,
                                         Int64 behind, const RowShare& share) {
  const Int64 budget = wrapping_difference(wrapping_difference(op.threshold, spent), behind);
  const Int64 kept = max(min(wish.found, wrapping_difference(budget, wish.base)), (Int64)0);
  if (kept > 0) {
    const Int64 held = min(kept, op.max_draft - wish.base);
    __global_ptr__ Int64* row = op.draft_tokens + slot * op.max_draft + wish.base;
    copy_row((__global_ptr__ const char*)text.at(wish.place), (__global_ptr__ char*)row, held * (Int64)sizeof(Int64),
             share);
  }
  return (int)(wish.base + kept);
}

// Searches slots, a cluster each. `places` is one more than a text has.
template <class Op>
static inline __device__ void search_slots(const Op& op, int places, const Told& told) {
  for (Int64 slot = cluster_id(); slot < op.bsz; slot += cluster_num()) {
    const Int64 base = op.base(slot);
    const Match match = find_match(op, op.text(slot, base), told);
    if (core_id() != 0) continue;
    const bool holds = match.size > 0 && base < op.max_draft;
    op.seq_lens_this_time[slot] = (int)(holds ? -1 - (base * places + match.place) : max(base, (Int64)0));
  }
}

// A slot's wish as search_slots has left it.
template <class Op>
static inline __device__ Wish staged_wish(const Op& op, Int64 slot, int places) {
  const int tokens = op.seq_lens_this_time[slot], staged = -1 - tokens;
  Wish wish = {tokens, 0, 0};
  if (tokens < 0) {
    wish.base = staged / places;
    wish.place = staged - wish.base * places;
    wish.found = op.text(slot, wish.base).found(wish.place);
  }
  return wish;
}

// Shares out the budget: a core does a stretch of slots.
template <class Op>
static inline __device__ void share_budget(const Op& op, int places, const Told& told) {
  const RowShare alone = {0, 1, 0, 1};
  int first, end;
  partition(core_id(), core_num(), op.bsz, 1, &first, &end);
  Int64 wishes = 0, active = 0;
  for (Int64 slot = first; slot < end; ++slot) {
    const Wish wish = staged_wish(op, slot, places);
    wishes = wrapping_sum(wishes, wish.tokens());
    active += wish.base > 0;
  }
  told.wishes[core_id()] = wishes;
  told.active[core_id()] = active;
  mfence_sm();
  sync_cluster();
  Int64 spent = 0, behind = 0;  // wishes of the slots before, and slots with tokens not before
  for (int core = 0; core < core_num(); ++core) {
    if (core < core_id()) {
      spent = wrapping_sum(spent, told.wishes[core]);
    } else {
      behind += told.active[core];
    }
  }
  for (Int64 slot = first; slot < end; ++slot) {
    const Wish wish = staged_wish(op, slot, places);
    behind -= wish.base > 0;
    if (wish.found > 0)
      op.seq_lens_this_time[slot] = take_drafts(op, slot, op.text(slot, wish.base), wish, spent, behind, alone);
    spent = wrapping_sum(spent, wish.tokens());
  }
}

// Both steps for all slots in turn, by one cluster.
template <class Op>
static inline __device__ void search_and_share(const Op& op, const Told& told) {
  const RowShare together = {0, 1, core_id(), core_num()};
  Int64 spent = 0, behind = 0;
  for (Int64 slot = core_id(); slot < op.bsz; slot += core_num()) behind += op.base(slot) > 0;
  behind = sum_over_cluster(behind, told.active);
  for (Int64 slot = 0; slot < op.bsz; ++slot) {
    const Int64 base = op.base(slot);
    const SeenText text = op.text(slot, base);
    const Match match = find_match(op, text, told);
    const bool holds = match.size > 0 && base < op.max_draft;
    const Wish wish = {max(base, (Int64)0), match.place, holds ? text.found(match.place) : 0};
    behind -= wish.base > 0;
    const int tokens = take_drafts(op, slot, text, wish, spent, behind, together);
    if (core_id() == 0) op.seq_lens_this_time[slot] = tokens;
    spent = wrapping_sum(spent, wish.tokens());
  }
}

template <class Op>
static inline __device__ void draft_from_text(const Op& op, int phase, int places, _shared_ptr_ Int64* words) {
  const Told told = {words, words + kMostCores, words + 2 * kMostCores, words + 3 * kMostCores};
  if (phase == ngram_search) {
    search_slots(op, places, told);
  } else if (phase == ngram_share) {
    share_budget(op, places, told);
  } else {
    search_and_share(op, told);
  }
}

}  // namespace xpu
}  // namespace opgold
