// The launches of an n-gram op.
#pragma once

namespace opgold {

// `search` on all clusters, then `share` on one. Or all slots in turn, on one.
enum NgramPhase { ngram_search, ngram_share, ngram_in_turn };

}  // namespace opgold
