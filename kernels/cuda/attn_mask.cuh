// What the two forms of update_attn_mask_offsets share: one launch with two kinds of blocks.
//
// In a slot block kLanes threads do one decode slot: its tokens, and its state. In a token block each thread does one
// token of any other kind. A token's owner is the same for both, so that exactly one thread writes it whatever
// cu_seqlens_q holds, and a slot's state is read and written by its own threads alone. Loads that wait for each other are most of this op's
// time: for few slots, a block first takes what it must know of all of them into shared memory, at once.
#pragma once

#include "bindings/device.h"
#include "packing.cuh"

namespace opgold {

constexpr int kLanes = 8;  // threads that do a decode slot
constexpr int kSlotsPerBlock = kThreads / kLanes;
constexpr int kStagedSlots = 1024;

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
  bool paired;  // attn_mask_offsets is aligned for a store of both ends
};

enum class Kind : uint8_t { kNone, kPrefill, kDecode };

// A slot's part of the batch, as it lies there: what a thread has asked for it need not wait for.
struct Slot {
  int32_t length = 0;
  int32_t encoder = 0;
  int32_t cached = 0;
  int32_t start = 0;
  int32_t behind = 0;  // where the next slot starts
  bool blocked = true;

  Slot() = default;
  __device__ Slot(const MaskBatch& batch, int64_t slot)
      : length(batch.seq_lens_this_time[slot]),
        encoder(batch.seq_lens_encoder[slot]),
        cached(batch.seq_lens_decoder[slot]),
        start(batch.cu_seqlens_q[slot]),
        behind(batch.cu_seqlens_q[slot + 1]),
        blocked(batch.is_block_step[slot]) {}

  __device__ Kind kind() const {
    const Kind running = encoder > 0 ? Kind::kPrefill : cached > 0 ? Kind::kDecode : Kind::kNone;
    return blocked ? Kind::kNone : running;
  }
  __device__ bool consistent() const {
    return (length >= 0) & (start >= 0) & (int64_t(start) + length == behind);
  }
};

// What a block keeps of a batch of at most kStagedSlots slots.
struct Stage {
  int32_t starts[kStagedSlots + 1];
  Kind kinds[kStagedSlots];
};

// The tokens of a slot, and what they are.
struct Range {
  int64_t start;
  int32_t length;
  Kind kind;
};

// Whose a token is.
struct Owners {
  const MaskBatch& batch;
  const int32_t* starts;
  const Kind* kinds = nullptr;  // null: not staged
  bool consistent = false;      // staged, and the prefix sums are those of the lengths: slots' ranges do not overlap
  bool all_decode = false;      // consistent, and every token is a decode slot's

  // Both constructors are barriers for the whole block. `first` is the slot of the thread's own number, if there is one.
  __device__ explicit Owners(const MaskBatch& batch) : batch(batch), starts(batch.cu_seqlens_q) { __syncthreads(); }
  __device__ Owners(const MaskBatch& batch, const Slot& first, Stage& stage)
      : batch(batch), starts(stage.starts), kinds(stage.kinds) {
    const int bsz = static_cast<int>(batch.bsz);
    bool sound = true, decode = true;
    Slot slot = first;
    for (int b = threadIdx.x; b < bsz; b += kThreads) {
      if (b >= kThreads) slot = Slot(batch, b);
      stage.starts[b] = slot.start;
      stage.kinds[b] = slot.kind();
      if (b + 1 == bsz) stage.starts[bsz] = slot.behind;
      sound &= slot.consistent();
      decode &= slot.length == 0 || slot.kind() == Kind::kDecode;
    }
    all_decode = __syncthreads_and(sound && decode);
    consistent = all_decode || __syncthreads_and(sound);
  }

  // For a batch with slots.
  __device__ int of(int64_t token) const {
    const int row = token < INT32_MAX ? static_cast<int>(token) : INT32_MAX;  // prefix sums say no more
    return slot_of([this](int b) { return starts[b]; }, static_cast<int>(batch.bsz), row);
  }

  __device__ Range range(int64_t slot) const {
    if (consistent) return {starts[slot], starts[slot + 1] - starts[slot], kinds[slot]};
    const Slot loaded(batch, slot);
    return {loaded.start, loaded.length, loaded.kind()};
  }
};

// A slot's generation modes, one row of `width` a slot. Rows of prefilling slots are only read, those of decoding ones are
// their threads'.
struct DecodeStates {
  int32_t* data;
  int64_t width;

  __device__ bool vision(int64_t slot) const { return data[slot * width] == 2; }
};

// Sums of values from data wrap.
__device__ inline int32_t wrapping_sum(int32_t a, int64_t b) { return int32_t(uint32_t(a) + uint32_t(b)); }

__device__ inline void write_range(const MaskBatch& batch, int32_t* attn_mask_offsets, int64_t token, int32_t end) {
  int32_t* range = attn_mask_offsets + 2 * token;
  if (batch.paired) {
    *reinterpret_cast<int2*>(range) = make_int2(0, end);
  } else {
    range[0] = 0;
    range[1] = end;
  }
}

template <class State>
__device__ void decode_slot(const MaskBatch& batch, const Owners& owners, const State& state, int64_t slot,
                            const Range& range, const typename State::Kept& kept, int lane,
                            int32_t* attn_mask_offsets) {
  const int32_t base = kept.base();
  const int64_t first = range.start < 0 ? 0 : range.start;
  const int64_t behind = range.start + range.length;
  const int64_t end = behind < batch.tokens ? behind : batch.tokens;
  for (int64_t token = first + lane; token < end; token += kLanes)
    if (owners.consistent || owners.of(token) == slot)
      write_range(batch, attn_mask_offsets, token, wrapping_sum(base, token - range.start + 1));
  state.advance(slot, kept, range.length, lane);
}

// The end of a prefill slot's token. All four values are asked for at once.
__device__ inline int32_t prefill_end(const MaskBatch& batch, const DecodeStates& states, int owner, int64_t index) {
  const int32_t cached = batch.seq_lens_decoder[owner], length = batch.seq_lens_this_time[owner];
  const bool vision = states.vision(owner);
  const int32_t last = index < batch.max_len ? batch.attn_mask_offsets_full[owner * batch.max_len + index] : -1;
  return cached > 0 && vision ? wrapping_sum(cached, length) : wrapping_sum(last, 1);
}

__device__ inline void other_token(const MaskBatch& batch, const Owners& owners, const DecodeStates& states,
                                   int64_t token, int32_t* attn_mask_offsets) {
  int32_t end = 0;
  if (owners.all_decode) {
    if (token < owners.starts[batch.bsz]) return;
  } else if (batch.bsz > 0) {
    const int owner = owners.of(token);
    const Range range = owners.range(owner);
    const int64_t index = token - range.start;
    const bool inside = index >= 0 && index < range.length;
    if (inside && range.kind == Kind::kDecode) return;
    if (inside && range.kind == Kind::kPrefill) end = prefill_end(batch, states, owner, index);
  }
  write_range(batch, attn_mask_offsets, token, end);
}

// The first `slot_blocks` blocks are for slots, the others for tokens.
template <bool kStaged, class State>
__global__ void __launch_bounds__(kThreads)
    update_masks(MaskBatch batch, State state, unsigned slot_blocks, int32_t* attn_mask_offsets) {
  __shared__ Stage stage;
  const bool for_slots = blockIdx.x < slot_blocks;
  const int64_t slot = blockIdx.x * int64_t(kSlotsPerBlock) + threadIdx.x / kLanes;
  const int lane = threadIdx.x % kLanes;
  const Slot first = kStaged && threadIdx.x < batch.bsz ? Slot(batch, threadIdx.x) : Slot();
  typename State::Kept kept{};
  if (for_slots && slot < batch.bsz) kept = state.read(slot, lane);
  const Owners owners = kStaged ? Owners(batch, first, stage) : Owners(batch);  // a barrier: a slot's threads have read its state
  if (for_slots) {
    if (slot >= batch.bsz) return;
    const Range range = owners.range(slot);
    if (range.kind == Kind::kDecode)
      decode_slot(batch, owners, state, slot, range, kept, lane, attn_mask_offsets);
  } else {
    const int64_t token = int64_t(blockIdx.x - slot_blocks) * kThreads + threadIdx.x;
    if (token < batch.tokens) other_token(batch, owners, state.states, token, attn_mask_offsets);
  }
}

// `State` has `states`, read(slot, lane), which asks for what a lane must know of a slot's state, with `base()`, the end
// before the first token's, and advance(slot, kept, length, lane), which all threads of the slot call once, after a barrier.
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

  const MaskBatch batch{seq_lens_this_time.data,
                        seq_lens_encoder.data,
                        seq_lens_decoder.data,
                        cu_seqlens_q.data,
                        attn_mask_offsets_full.data,
                        is_block_step.data,
                        bsz,
                        tokens,
                        attn_mask_offsets_full.shape[1],
                        reinterpret_cast<uintptr_t>(attn_mask_offsets.data) % sizeof(int2) == 0};
  const unsigned slot_blocks = static_cast<unsigned>((bsz + kSlotsPerBlock - 1) / kSlotsPerBlock);
  const unsigned blocks = slot_blocks + static_cast<unsigned>((tokens + kThreads - 1) / kThreads);
  if (blocks == 0) return;
  if (bsz > 0 && bsz <= kStagedSlots)
    update_masks<true><<<blocks, kThreads, 0, stream>>>(batch, state, slot_blocks, attn_mask_offsets.data);
  else
    update_masks<false><<<blocks, kThreads, 0, stream>>>(batch, state, slot_blocks, attn_mask_offsets.data);
  check_launch(op);
}

}  // namespace opgold
