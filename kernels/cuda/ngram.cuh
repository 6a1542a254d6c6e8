// Drafts from a slot's own text, in two steps: a block searches each slot, then one block shares out the token budget.
//
// Between the two, a slot that found drafts holds where they stand in `seq_lens_this_time`, below 0: there is no other
// memory that an op may write. Where an int32 cannot say that, one block does all slots in turn.
//
// An op gives `bsz`, `seq_lens_this_time`, `draft_tokens`, `max_ngram`, `min_ngram`, `threshold`, and the functions
// `base(slot)` (the tokens a slot has anyway; below 0 is none) and `text(slot, base)` (what it may search).
#pragma once

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "history.cuh"

namespace opgold {

constexpr int kSearchThreads = 512;
constexpr int kSearchInFlight = 4;
constexpr int kBudgetThreads = 1024;
constexpr int kDraftsInFlight = 8;

// What a slot has seen. Places count through the prompt and then the generated entries.
struct SeenText {
  const int64_t* prompt;
  int64_t prompt_len;
  const int64_t* entries;
  int64_t count;           // entries 0 to count - 1 are searched
  int64_t history_layout;  // the last token is entry count - 1 + history_layout
  int64_t wanted;          // drafts; at most 0: no search

  __device__ int64_t from_end(int64_t back) const { return entries[count - 1 + history_layout - back]; }
  __device__ int64_t found(int64_t place) const {
    const int64_t left = (place < prompt_len ? prompt_len : prompt_len + count) - place;
    return left < wanted ? left : wanted;
  }
  __device__ int64_t at(int64_t place) const {
    return place < prompt_len ? prompt[place] : entries[place - prompt_len];
  }
};

// The place behind an occurrence of the text's last `size` tokens.
struct Match {
  int64_t size;
  int64_t place;
};

struct BetterMatch {
  __device__ Match operator()(const Match& a, const Match& b) const {
    return a.size > b.size || (a.size == b.size && a.place < b.place) ? a : b;
  }
};

using MatchReduce = cub::BlockReduce<Match, kSearchThreads>;

// Keeps the best of `best` and a thread's places in one haystack. Longer wins, then what comes first.
__device__ inline void search_in(const SeenText& text, const int64_t* haystack, int64_t length, int64_t offset,
                                 int64_t longest, int64_t last_token, Match& best) {
  for (int64_t from = threadIdx.x; from + 1 < length; from += int64_t(kSearchThreads) * kSearchInFlight) {
    int64_t held[kSearchInFlight];
#pragma unroll
    for (int k = 0; k < kSearchInFlight; ++k) {
      const int64_t at = from + k * int64_t(kSearchThreads);
      held[k] = at + 1 < length ? haystack[at] : 0;
    }
#pragma unroll
    for (int k = 0; k < kSearchInFlight; ++k) {
      const int64_t at = from + k * int64_t(kSearchThreads);
      if (at + 1 >= length || held[k] != last_token) continue;
      int64_t size = 1;
      while (size < longest && size <= at && haystack[at - size] == text.from_end(size)) ++size;
      if (size > best.size) best = {size, offset + at + 1};
    }
  }
}

// The whole block takes part; thread 0 gets the match, of size 0 where there is none.
__device__ inline Match search_text(const SeenText& text, int64_t max_ngram, int64_t min_ngram,
                                    MatchReduce::TempStorage& storage) {
  Match best{0, 0};
  const int64_t longest = max_ngram < text.count ? max_ngram : text.count;
  if (text.wanted > 0 && longest >= min_ngram) {
    const int64_t last_token = text.from_end(0);
    search_in(text, text.prompt, text.prompt_len, 0, longest, last_token, best);
    search_in(text, text.entries, text.count, text.prompt_len, longest, last_token, best);
  }
  const Match found = MatchReduce(storage).Reduce(best, BetterMatch{});
  return found.size < min_ngram ? Match{0, 0} : found;
}

// Where a slot's drafts stand, as a number below 0: the slot's base, and the place.
struct Staged {
  int64_t places;

  __device__ int32_t pack(int64_t base, int64_t place) const {
    return static_cast<int32_t>(-1 - (base * places + place));
  }
  __device__ int64_t base(int32_t staged) const { return (-1 - int64_t(staged)) / places; }
  __device__ int64_t place(int32_t staged) const { return (-1 - int64_t(staged)) % places; }
};

template <class Op>
__global__ void __launch_bounds__(kSearchThreads) search_slots(Op op, Staged staged) {
  __shared__ MatchReduce::TempStorage storage;
  const int64_t slot = blockIdx.x;
  const int64_t base = op.base(slot);
  const SeenText text = op.text(slot, base);
  const Match match = search_text(text, op.max_ngram, op.min_ngram, storage);
  if (threadIdx.x != 0) return;  // the reduction stands between what every thread has read and what thread 0 writes
  const bool holds = match.size > 0 && op.draft_tokens.holds(base);
  op.seq_lens_this_time[slot] = holds ? staged.pack(base, match.place) : static_cast<int32_t>(base > 0 ? base : 0);
}

// Drafts that a slot may keep.
__device__ inline int64_t kept_drafts(int64_t found, int64_t base, int64_t budget) {
  const int64_t room = wrapping_difference(budget, base);
  const int64_t kept = found < room ? found : room;
  return kept > 0 ? kept : 0;
}

struct AddWishes {
  __device__ int64_t operator()(int64_t a, int64_t b) const { return wrapping_sum(a, b); }
};

template <class Op>
__global__ void __launch_bounds__(kBudgetThreads) share_budget(Op op, Staged staged) {
  using WishScan = cub::BlockScan<int64_t, kBudgetThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename WishScan::TempStorage storage;
  __shared__ int64_t chunk_wishes;
  int64_t behind = 0, spent = 0;  // slots with tokens behind those done, and wishes of those
  for (int64_t first = 0; first < op.bsz; first += kBudgetThreads) {
    const int64_t slot = first + threadIdx.x;
    behind += __syncthreads_count(slot < op.bsz && op.seq_lens_this_time[slot] != 0);
  }
  for (int64_t first = 0; first < op.bsz; first += kBudgetThreads) {
    const int64_t slot = first + threadIdx.x;
    const int32_t value = slot < op.bsz ? op.seq_lens_this_time[slot] : 0;
    const bool has_drafts = value < 0;
    const int64_t base = has_drafts ? staged.base(value) : value, place = has_drafts ? staged.place(value) : 0;
    SeenText text{};
    if (has_drafts) text = op.text(slot, base);
    const int64_t found = has_drafts ? text.found(place) : 0, wish = base + found;
    int64_t wishes, active;
    WishScan(storage).InclusiveScan(wish, wishes, AddWishes{});
    if (threadIdx.x == kBudgetThreads - 1) chunk_wishes = wishes;
    __syncthreads();  // `storage` is used again
    WishScan(storage).InclusiveScan(int64_t(value != 0), active, AddWishes{});
    if (has_drafts) {
      const int64_t before = wrapping_sum(spent, wrapping_difference(wishes, wish));
      const int64_t budget = wrapping_difference(wrapping_difference(op.threshold, before), behind - active);
      const int64_t kept = kept_drafts(found, base, budget);
      for (int64_t done = 0; done < kept; done += kDraftsInFlight) {
        int64_t held[kDraftsInFlight];
#pragma unroll
        for (int k = 0; k < kDraftsInFlight; ++k) held[k] = done + k < kept ? text.at(place + done + k) : 0;
#pragma unroll
        for (int k = 0; k < kDraftsInFlight; ++k)
          if (done + k < kept) op.draft_tokens.put(slot, base + done + k, held[k]);
      }
      op.seq_lens_this_time[slot] = static_cast<int32_t>(base + kept);
    }
    behind -= __syncthreads_count(value != 0);  // `storage` is used again
    spent = wrapping_sum(spent, chunk_wishes);  // written again only behind the next scan's barrier
  }
}

// Both steps for all slots in turn.
template <class Op>
__global__ void __launch_bounds__(kSearchThreads) search_and_share(Op op) {
  __shared__ MatchReduce::TempStorage storage;
  __shared__ Match match;
  int64_t behind = 0, spent = 0;
  for (int64_t first = 0; first < op.bsz; first += kSearchThreads) {
    const int64_t slot = first + threadIdx.x;
    behind += __syncthreads_count(slot < op.bsz && op.base(slot) > 0);
  }
  for (int64_t slot = 0; slot < op.bsz; ++slot) {
    const int64_t base = op.base(slot);
    const SeenText text = op.text(slot, base);
    const Match best = search_text(text, op.max_ngram, op.min_ngram, storage);
    if (threadIdx.x == 0) match = best;
    __syncthreads();
    const int64_t place = match.place, found = match.size > 0 ? text.found(place) : 0;
    const int64_t own = base > 0 ? base : 0;
    behind -= own > 0;
    const int64_t budget = wrapping_difference(wrapping_difference(op.threshold, spent), behind);
    const int64_t kept = kept_drafts(found, own, budget);
    for (int64_t i = threadIdx.x; i < kept; i += kSearchThreads) op.draft_tokens.put(slot, own + i, text.at(place + i));
    if (threadIdx.x == 0) op.seq_lens_this_time[slot] = static_cast<int32_t>(own + kept);
    spent = wrapping_sum(spent, own + found);  // `match` is written again only behind the next reduction
  }
}

// `places`: one more than a slot's text has; `bases`: one more than the largest base of a slot that may have drafts.
template <class Op>
void launch_ngrams(Stream stream, const Op& op, int64_t places, int64_t bases) {
  if (op.bsz == 0) return;
  if (bases <= INT32_MAX / places) {
    const Staged staged{places};
    search_slots<<<static_cast<unsigned>(op.bsz), kSearchThreads, 0, stream>>>(op, staged);
    share_budget<<<1, kBudgetThreads, 0, stream>>>(op, staged);
  } else {
    search_and_share<<<1, kSearchThreads, 0, stream>>>(op);
  }
}

}  // namespace opgold
