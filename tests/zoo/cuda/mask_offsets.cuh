// The launcher of update_attn_mask_offsets; the exhibit defines the three rules of a decode slot that are declared here.
#pragma once

#include "bindings/export.h"

namespace opgold {
namespace {

struct Masks {
  const int32_t* this_time;
  const int32_t* encoder;
  const int32_t* decoder;
  const int32_t* starts;
  const int32_t* full;
  int32_t* bases;
  const bool* blocked;
  int32_t* states;
  int32_t* rollback;
  int32_t* offsets;
  int64_t bsz, tokens, max_len, max_draft;
};

// Where a slot's tokens of this step begin to count; sums of values from data wrap.
__device__ uint32_t base_of(const Masks& op, int64_t slot);
// What stays behind of a step that ends at `end`.
__device__ void keep(const Masks& op, int64_t slot, uint32_t end);
// Sets the keys that a token sees: from 0 to before `end`.
__device__ void set(const Masks& op, int64_t token, uint32_t end);

// All in one thread: slots may overlap in inputs that break the contract.
__global__ void update(Masks op) {
  for (int64_t i = 0; i < 2 * op.tokens; ++i) op.offsets[i] = 0;
  for (int64_t slot = 0; slot < op.bsz; ++slot) {
    const int64_t count = op.this_time[slot], first = op.starts[slot];
    const bool prompt = op.encoder[slot] > 0;
    if (op.blocked[slot] || (!prompt && op.decoder[slot] <= 0)) continue;
    const bool image = prompt && op.max_draft > 0 && op.states[slot * op.max_draft] == 2 && op.decoder[slot] > 0;
    const uint32_t base = prompt ? 0 : base_of(op, slot);
    for (int64_t i = first < 0 ? -first : 0; i < count && first + i < op.tokens; ++i) {
      if (prompt && !image && i >= op.max_len) break;
      set(op, first + i, !prompt ? base + static_cast<uint32_t>(i) + 1
                         : image ? static_cast<uint32_t>(op.decoder[slot]) + static_cast<uint32_t>(count)
                                 : static_cast<uint32_t>(op.full[slot * op.max_len + i]) + 1);
    }
    if (prompt) continue;
    keep(op, slot, base + static_cast<uint32_t>(count));
    for (int64_t i = 0; count > 1 && i < op.max_draft; ++i) op.states[slot * op.max_draft + i] = i < count ? 0 : -1;
  }
}

void update_attn_mask_offsets(Stream stream, Tensor<const int64_t, 1> ids, Tensor<const int32_t, 1> this_time,
                              Tensor<const int32_t, 1> encoder, Tensor<const int32_t, 1> decoder,
                              Tensor<const int32_t, 1> starts, Tensor<const int32_t, 2> full,
                              Tensor<int32_t, 1> bases, Tensor<const bool, 1> blocked, Tensor<int32_t, 2> states,
                              Tensor<int32_t, 1> rollback, Tensor<int32_t, 1> offsets) {
  const Masks op{this_time.data, encoder.data,  decoder.data, starts.data,        full.data,    bases.data,
                 blocked.data,   states.data,   rollback.data, offsets.data,      this_time.shape[0], ids.shape[0],
                 full.shape[1],  states.shape[1]};
  update<<<1, 1, 0, stream>>>(op);
  check_launch("update_attn_mask_offsets");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(update_attn_mask_offsets, opgold::update_attn_mask_offsets)
