// What the two forms of update_attn_mask_offsets share: the mask ranges of packed tokens, and the states of slots.
#pragma once

#include "xpu/copies.h"
#include "xpu/summed_rows.h"

namespace opgold {
namespace xpu {

// The keys from `begin` to before `end`.
struct MaskRange {
  int begin, end;
};

struct MaskBatch {
  __global_ptr__ const int* seq_lens_this_time;
  __global_ptr__ const int* seq_lens_encoder;
  __global_ptr__ const int* seq_lens_decoder;
  __global_ptr__ const bool* is_block_step;
  int bsz;
  __global_ptr__ const int* attn_mask_offsets_full;
  Int64 max_len;
  __global_ptr__ int* decode_states;  // read of prefilling slots, written of decoding ones
  Int64 max_draft;

  __device__ bool prefilling(int slot) const { return !is_block_step[slot] && seq_lens_encoder[slot] > 0; }
  __device__ bool decoding(int slot) const {
    return !is_block_step[slot] && seq_lens_encoder[slot] <= 0 && seq_lens_decoder[slot] > 0;
  }
  __device__ bool sees_image(int slot) const {
    return seq_lens_decoder[slot] > 0 && decode_states[slot * max_draft] == 2;
  }
};

// Tokens' ranges, as repeat_rows takes them. base(slot) is the end before a decode slot's first token's.
template <class Base>
struct MaskRanges {
  MaskBatch batch;
  Base base;
  __global_ptr__ MaskRange* out;
  MaskRange ranges[kHeldRows];

  __device__ MaskRanges(const MaskBatch& batch, const Base& base, __global_ptr__ int* attn_mask_offsets)
      : batch(batch), base(base), out((__global_ptr__ MaskRange*)attn_mask_offsets) {}

  __device__ void put(int at, int count, int slot, Int64 index) {
    if (slot >= 0 && batch.decoding(slot)) {
      fill(at, count, wrapping_sum(base(slot), (int)(index + 1)), 1);
    } else if (slot < 0 || !batch.prefilling(slot)) {
      fill(at, count, 0, 0);
    } else if (batch.sees_image(slot)) {
      fill(at, count, wrapping_sum(batch.seq_lens_decoder[slot], batch.seq_lens_this_time[slot]), 0);
    } else {
      put_prompt(at, count, slot, index);
    }
  }

  __device__ void fill(int at, int count, int end, int step) {
    for (int i = at; i < at + count; ++i) {
      const MaskRange range = {0, end};
      ranges[i] = range;
      end = wrapping_sum(end, step);
    }
  }

  __device__ void put_prompt(int at, int count, int slot, Int64 index) {
    int last[kHeldRows];
    const Int64 held = max((Int64)0, min(batch.max_len - index, (Int64)count));
    if (held > 0)
      GM2LM(batch.attn_mask_offsets_full + slot * batch.max_len + index, last, (int)held * (int)sizeof(int));
    for (int i = 0; i < count; ++i) fill(at + i, 1, i < held ? wrapping_sum(last[i], 1) : 0, 0);
    mfence_lm();
  }

  __device__ void send(Int64 row, int count) const { LM2GM(ranges, out + row, count * (int)sizeof(MaskRange)); }
};

// Writes the calling core's share of the `tokens` ranges.
template <class Base>
static inline __device__ void write_ranges(const MaskBatch& batch, const Base& base,
                                           __global_ptr__ const int* cu_seqlens_q, int tokens,
                                           __global_ptr__ int* attn_mask_offsets, _shared_ptr_ int* starts) {
  MaskRanges<Base> ranges(batch, base, attn_mask_offsets);
  const int used = repeat_summed_slots(cu_seqlens_q, batch.bsz, ranges, tokens, starts);
  repeat_rest(ranges, used, tokens);
}

// State i of every decode slot becomes next(state, i, the slot's tokens).
template <class Next>
static inline __device__ void update_states(const MaskBatch& batch, const Next& next) {
  int states[kHeldRows];
  const RowShare share = share_rows(batch.bsz, batch.max_draft * (Int64)sizeof(int));
  for (Int64 slot = share.row; slot < batch.bsz; slot += share.row_step) {
    if (!batch.decoding((int)slot)) continue;
    const int length = batch.seq_lens_this_time[slot];
    __global_ptr__ int* row = batch.decode_states + slot * batch.max_draft;
    for (Int64 at = (Int64)share.piece * kHeldRows; at < batch.max_draft; at += (Int64)share.piece_step * kHeldRows) {
      const int count = (int)min((Int64)kHeldRows, batch.max_draft - at);
      GM2LM(row + at, states, count * (int)sizeof(int));
      for (int i = 0; i < count; ++i) states[i] = next(states[i], at + i, length);
      mfence_lm();
      LM2GM(states, row + at, count * (int)sizeof(int));
    }
  }
}

}  // namespace xpu
}  // namespace opgold
