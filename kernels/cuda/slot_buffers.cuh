// Buffers of all slots, of which a step runs the first ones.
#pragma once

#include "bindings/device.h"

namespace opgold {

// Each tensor has a row for each of `slots`, of which this step runs `bsz`.
template <class... Tensors>
void require_all_slots(int64_t slots, int64_t bsz, const Tensors&... tensors) {
  if (bsz > slots)
    throw ArgumentError("seq_lens_this_time", bsz, " slots, expected at most the ", slots, " that there are");
  (tensors.require(0, slots, "slots"), ...);
}

// `tensor` has at least `needed` rows.
template <class T, int Rank>
void require_rows(const Tensor<T, Rank>& tensor, int64_t needed, const char* meaning) {
  if (tensor.shape[0] < needed)
    throw ArgumentError(tensor.name, tensor.shape[0], " rows, expected at least ", needed, " (", meaning, ")");
}

}  // namespace opgold
