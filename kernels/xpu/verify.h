// What the two verifying ops share: which drafts of a slot are accepted, and what it emits.
#pragma once

#include "xpu/token_sets.h"

namespace opgold {
namespace xpu {

// The candidates of packed output rows, best first.
struct Candidates {
  __global_ptr__ const Int64* ids;
  __global_ptr__ const float* scores;
  __global_ptr__ const int* lens;
  Int64 rows;
  Int64 width;

  __device__ bool holds(Int64 row) const { return row >= 0 && row < rows && width > 0; }
  __device__ Int64 length(Int64 row) const {
    const Int64 given = lens[row];
    return given < 0 ? 0 : min(given, width);
  }
  __device__ bool lists(Int64 row, Int64 token) const {
    return holds(row) && is_among(token, ids + row * width, length(row));
  }
  __device__ bool has_at(Int64 row, int rank, Int64 token) const {
    return holds(row) && rank < width && ids[row * width + rank] == token;
  }

  // The first candidate at which the float32 sum of scores, by rank, reaches `mark`; the first one if none does.
  __device__ Int64 draw(Int64 row, float mark) const {
    const Int64 count = length(row);
    float sum = 0;
    for (Int64 rank = 0; rank < count; ++rank) {
      sum += scores[row * width + rank];
      if (mark <= sum) return ids[row * width + rank];
    }
    return ids[row * width];
  }
};

// What verifies drafts: a target for each packed output row, or candidates.
struct Verifier {
  __global_ptr__ const Int64* targets;  // null: candidates verify
  Int64 target_rows;
  Candidates candidates;
  Int64 window;
  bool first_only;  // only the first candidate counts
  bool resumes;     // verification goes on behind a window

  __device__ bool passes(Int64 row, Int64 draft) const {
    if (targets != nullptr) return row >= 0 && row < target_rows && targets[row] == draft;
    return first_only ? candidates.has_at(row, 0, draft) : candidates.lists(row, draft);
  }

  // Whether the first of `left` drafts is the second candidate, and the next `window` are first candidates.
  __device__ bool passes_with_window(Int64 row, __global_ptr__ const Int64* drafts, Int64 left) const {
    if (targets != nullptr || first_only || window >= left || !candidates.has_at(row, 1, drafts[0])) return false;
    for (Int64 i = 1; i <= window; ++i)
      if (!candidates.has_at(row + i, 0, drafts[i])) return false;
    return true;
  }

  // How many of the drafts are accepted, whose output rows start at `first`.
  __device__ Int64 accepted(Int64 first, __global_ptr__ const Int64* drafts, Int64 count) const {
    Int64 i = 0;
    while (i < count) {
      if (passes(first + i, drafts[i])) {
        ++i;
      } else if (passes_with_window(first + i, drafts + i, count - i)) {
        i += window + 1;
        if (!resumes) return i;
      } else {
        return i;
      }
    }
    return i;
  }

  // The token that a row gives behind accepted drafts.
  __device__ Int64 next(Int64 row, bool draws, float mark) const {
    if (targets != nullptr) return row >= 0 && row < target_rows ? targets[row] : -1;
    if (!candidates.holds(row)) return -1;
    return draws ? candidates.draw(row, mark) : candidates.ids[row * candidates.width];
  }
};

// What ends a slot: an end token, or the token that brings its step to the limit.
struct Endings {
  __global_ptr__ const Int64* tokens;
  Int64 count;
  bool kept;  // an end token at the limit stays what it is

  __device__ bool ends(Int64 token) const { return is_among(token, tokens, count); }
};

// Whether `step + emitted` has reached `limit`. Exact: both may be anything.
static inline __device__ bool at_limit(Int64 step, Int64 limit, Int64 emitted) {
  return limit <= step || (unsigned long long)limit - (unsigned long long)step <= (unsigned long long)emitted;
}

enum Accepting { kNone, kAll, kVerified };

struct Emission {
  Int64 length;
  bool stopped;
};

// One slot's draft row. Its drafts are columns 1 to tokens - 1.
struct DraftRow {
  __global_ptr__ const Int64* input;
  Int64 width;
  Int64 tokens;
  Int64 first;  // of its packed output rows
  Int64 step;
  Int64 limit;

  // Emits the accepted drafts and the token behind them, up to the first that ends the slot.
  __device__ Emission emit(const Verifier& verifier, const Endings& endings, Accepting accepting, bool draws,
                           float mark, __global_ptr__ Int64* output) const {
    Int64 accepted = accepting == kNone ? 0 : max(min(tokens, width) - 1, (Int64)0);
    if (accepting == kVerified) accepted = verifier.accepted(first, input + 1, accepted);
    Emission emission = {0, false};
    while (!emission.stopped && emission.length <= accepted) {
      const Int64 at = emission.length++;
      Int64 token = at < accepted ? input[at + 1] : verifier.next(first + accepted, draws, mark);
      const bool ends = endings.ends(token), full = at_limit(step, limit, emission.length);
      if (full && !(ends && endings.kept) && endings.count > 0) token = endings.tokens[0];
      if (at < width) output[at] = token;
      emission.stopped = ends || full;
    }
    return emission;
  }
};

}  // namespace xpu
}  // namespace opgold
