// What the two forms of update_attn_mask_offsets share: one launch with two kinds of blocks.
//
// In a slot block each warp does one decode slot: its tokens, and its state. In a token block each thread does one token of
// any other kind. Both ask Owners whose a token is, so that exactly one thread writes it whatever cu_seqlens_q holds, and
// a slot's state is read and written by one warp alone.
#pragma once

#include "bindings/device.h"
#include "packing.cuh"

namespace opgold {

constexpr int kWarp = 32;
constexpr int kSlotsPerBlock = kThreads / kWarp;
constexpr int kSamples = 1024;  // prefix sums that a block keeps at hand

// The inputs that no form of the op writes.
struct MaskBatch {
  const int32_t* seq_lens_this_time;
  const int32_t* seq_lens_encoder;
  const int32_t* seq_lens_decoder;
  const int32_t* cu_seqlens_q;
  const int32_t* attn_mask_offsets_full;
  const bool* is_block_step;
  int64_t bsz;
  int64_t tokens;
  int64_t max_len;
  int64_t stride;  // of the prefix sums that blocks keep at hand
  int64_t samples;
};

// A slot's part of the batch. Loaded at once: loads that wait for each other are most of this op's time.
struct Slot {
  int32_t length = 0;
  int32_t encoder = 0;
  int32_t cached = 0;
  int64_t start = 0;
  bool blocked = true;

  Slot() = default;
  __device__ Slot(const MaskBatch& batch, int64_t slot)
      : length(batch.seq_lens_this_time[slot]),
        encoder(batch.seq_lens_encoder[slot]),
        cached(batch.seq_lens_decoder[slot]),
        start(batch.cu_seqlens_q[slot]),
        blocked(batch.is_block_step[slot]) {}

  __device__ bool prefills() const { return !blocked & (encoder > 0); }
  __device__ bool decodes() const { return !blocked & (encoder <= 0) & (cached > 0); }
};

// Finds a token's slot: among every `stride`-th prefix sum, which stand in shared memory, then between two of those.
struct Owners {
  const MaskBatch& batch;
  const int32_t* samples;

  // The whole block takes part; `samples` has kSamples entries.
  __device__ Owners(const MaskBatch& batch, int32_t* samples) : batch(batch), samples(samples) {
    for (int64_t k = threadIdx.x; k < batch.samples; k += kThreads) samples[k] = batch.cu_seqlens_q[k * batch.stride];
  }

  // After a barrier, and for a batch with slots.
  __device__ int64_t of(int64_t token) const {
    const int64_t low = slot_of([this](int64_t k) { return samples[k]; }, batch.samples, token) * batch.stride;
    const int64_t high = low + batch.stride < batch.bsz ? low + batch.stride : batch.bsz;
    return low + slot_of([&](int64_t b) { return batch.cu_seqlens_q[low + b]; }, high - low, token);
  }
};

// A slot's generation modes, one row of `width` a slot. Rows of prefilling slots are only read, those of decoding ones are
// their warp's.
struct DecodeStates {
  int32_t* data;
  int64_t width;

  __device__ bool vision(int64_t slot) const { return data[slot * width] == 2; }
};

// Sums of values from data wrap.
__device__ inline int32_t wrapping_sum(int32_t a, int64_t b) { return int32_t(uint32_t(a) + uint32_t(b)); }

__device__ inline void write_range(int32_t* attn_mask_offsets, int64_t token, int32_t end) {
  int32_t* range = attn_mask_offsets + 2 * token;
  if (reinterpret_cast<uintptr_t>(range) % sizeof(int2) == 0) {
    *reinterpret_cast<int2*>(range) = make_int2(0, end);
  } else {
    range[0] = 0;
    range[1] = end;
  }
}

template <class State>
__device__ void decode_slot(const MaskBatch& batch, const Owners& owners, const State& state, int64_t index,
                            const Slot& slot, const typename State::Kept& kept, int lane,
                            int32_t* attn_mask_offsets) {
  const int64_t first = slot.start < 0 ? 0 : slot.start;
  const int64_t behind = slot.start + slot.length;
  const int64_t end = behind < batch.tokens ? behind : batch.tokens;
  for (int64_t token = first + lane; token < end; token += kWarp)
    if (owners.of(token) == index)
      write_range(attn_mask_offsets, token, wrapping_sum(kept.base, token - slot.start + 1));
  state.advance(index, kept, slot.length, lane);
}

template <class State>
__device__ void other_token(const MaskBatch& batch, const Owners& owners, const State& state, int64_t token,
                            int32_t* attn_mask_offsets) {
  int32_t end = 0;
  if (batch.bsz > 0) {
    const int64_t owner = owners.of(token);
    const Slot slot(batch, owner);
    const int64_t index = token - slot.start;
    if (index >= 0 && index < slot.length) {
      if (slot.decodes()) return;
      if (slot.prefills()) {
        if (slot.cached > 0 && state.states.vision(owner)) end = wrapping_sum(slot.cached, slot.length);
        else if (index < batch.max_len) end = wrapping_sum(batch.attn_mask_offsets_full[owner * batch.max_len + index], 1);
      }
    }
  }
  write_range(attn_mask_offsets, token, end);
}

template <class State>
__global__ void __launch_bounds__(kThreads)
    update_masks(MaskBatch batch, State state, int64_t slot_blocks, int32_t* attn_mask_offsets) {
  __shared__ int32_t samples[kSamples];
  const Owners owners(batch, samples);
  if (blockIdx.x < slot_blocks) {
    const int64_t index = blockIdx.x * int64_t(kSlotsPerBlock) + threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    Slot slot;
    typename State::Kept kept{};
    if (index < batch.bsz) {
      slot = Slot(batch, index);
      kept = state.read(index, lane);
    }
    __syncthreads();  // the samples stand, and all of the warp have read the slot's state
    if (slot.decodes()) decode_slot(batch, owners, state, index, slot, kept, lane, attn_mask_offsets);
  } else {
    __syncthreads();
    const int64_t token = (blockIdx.x - slot_blocks) * int64_t(kThreads) + threadIdx.x;
    if (token < batch.tokens) other_token(batch, owners, state, token, attn_mask_offsets);
  }
}

// `State` has `states`, read(slot, lane), which gives what a lane must know of a slot's state, among it the end before the
// first token's, `base`, and advance(slot, kept, length, lane), which the slot's whole warp calls once, after a barrier.
template <class State>
void launch_update_masks(const char* op, Stream stream, Tensor<const int64_t, 1> ids_remove_padding,
                         Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> seq_lens_encoder,
                         Tensor<const int32_t, 1> seq_lens_decoder, Tensor<const int32_t, 1> cu_seqlens_q,
                         Tensor<const int32_t, 2> attn_mask_offsets_full, Tensor<const bool, 1> is_block_step,
                         Tensor<int32_t, 2> decode_states, Tensor<int32_t, 1> attn_mask_offsets, State state) {
  const int64_t bsz = seq_lens_this_time.shape[0], tokens = ids_remove_padding.shape[0];
  seq_lens_encoder.require(0, bsz, "slots of seq_lens_this_time");
  seq_lens_decoder.require(0, bsz, "slots of seq_lens_this_time");
  cu_seqlens_q.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  attn_mask_offsets_full.require(0, bsz, "slots of seq_lens_this_time");
  is_block_step.require(0, bsz, "slots of seq_lens_this_time");
  decode_states.require(0, bsz, "slots of seq_lens_this_time");
  if (decode_states.shape[1] < 1) throw ArgumentError("decode_states", "has 0 columns, expected at least 1");
  attn_mask_offsets.require(0, 2 * tokens, "twice the tokens of ids_remove_padding");

  const int64_t stride = bsz <= kSamples ? 1 : (bsz + kSamples - 1) / kSamples;
  const MaskBatch batch{seq_lens_this_time.data,
                        seq_lens_encoder.data,
                        seq_lens_decoder.data,
                        cu_seqlens_q.data,
                        attn_mask_offsets_full.data,
                        is_block_step.data,
                        bsz,
                        tokens,
                        attn_mask_offsets_full.shape[1],
                        stride,
                        (bsz + stride - 1) / stride};
  const int64_t slot_blocks = (bsz + kSlotsPerBlock - 1) / kSlotsPerBlock;
  const int64_t blocks = slot_blocks + (tokens + kThreads - 1) / kThreads;
  if (blocks == 0) return;
  update_masks<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(batch, state, slot_blocks,
                                                                       attn_mask_offsets.data);
  check_launch(op);
}

}  // namespace opgold
