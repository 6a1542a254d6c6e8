// How the two n-gram ops are launched.
#pragma once

#include "bindings/device.h"
#include "xpu/ngram_phases.h"

namespace opgold {

// Calls `launch(clusters, phase, places)` for each launch. `places`: one more than a slot's text has; `bases`: one more
// than the largest base of a slot that may have drafts.
template <class Launch>
void launch_ngrams(int64_t places, int64_t bases, Launch launch) {
  if (bases <= INT32_MAX / places) {
    launch(clusters(), ngram_search, static_cast<int>(places));
    launch(1, ngram_share, static_cast<int>(places));
  } else {
    launch(1, ngram_in_turn, 0);
  }
}

}  // namespace opgold
