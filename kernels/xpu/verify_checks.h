// What launchers of verifying ops check.
#pragma once

#include "bindings/device.h"

namespace opgold {

// All of these are given, which `by` needs.
template <class... Tensors>
void require_given(const char* by, const Tensors&... tensors) {
  ((tensors.given ? void() : throw ArgumentError(tensors.name, "required by ", by)), ...);
}

// Each output row has candidates, one at least, and says how many count.
inline void require_candidates(const Tensor<const int64_t, 2>& ids, const Tensor<const int32_t, 1>& lens) {
  if (ids.shape[1] < 1) throw ArgumentError(ids.name, "has 0 columns, expected at least 1");
  lens.require(0, ids.shape[0], "rows of candidates");
}

// What is drawn from: a score for each candidate, and a uniform number for each slot.
inline void require_draws(const Tensor<const int64_t, 2>& ids, const Tensor<const float, 2>& scores,
                          const Tensor<const float, 1>& uniforms, int64_t bsz) {
  scores.require(0, ids.shape[0], "rows of candidates");
  scores.require(1, ids.shape[1], "columns of candidates");
  uniforms.require(0, bsz, "slots of seq_lens_this_time");
}

inline void require_window(int64_t verify_window) {
  if (verify_window < 0) throw ArgumentError("verify_window", verify_window, ", expected at least 0");
}

}  // namespace opgold
