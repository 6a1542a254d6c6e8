// Packed tokens: from drafts or prompts, written by the threads of their slot or of their row.
#pragma once

#include "slot_sums.cuh"

namespace opgold {

// Lengths up to this are sound: sums over few slots stay below 2^31. Longer ones only cost a search.
constexpr uint32_t kSoundLength = 1u << 16;

// Where each slot's tokens come from: its drafts if it has no encoder length, else its input ids. And where they go.
struct TokenPacking {
  const int64_t* input_ids;
  int64_t max_len;
  const int64_t* draft_tokens;  // null: everything comes from input_ids
  int64_t max_draft;
  const int32_t* seq_lens_encoder;
  const int32_t* seq_len;
  int64_t bsz;
  int64_t tokens;
  int64_t* ids;
  int32_t* batch_ids;

  static constexpr unsigned kDraftLanes = 8;  // threads that write a slot's drafts
  static constexpr unsigned kDraftSlots = kThreads / kDraftLanes;

  unsigned draft_blocks() const { return draft_tokens ? unsigned((bsz + kDraftSlots - 1) / kDraftSlots) : 0; }

  __device__ bool drafting(int64_t slot) const { return draft_tokens && seq_lens_encoder[slot] <= 0; }

  // Writes the packed token `row`; a row that no slot holds gets id 2 and batch id -1.
  __device__ void write(int64_t row, const Place& place, bool drafted) const {
    int64_t id = 2;
    int32_t batch_id = -1;
    if (place.slot >= 0) {
      const int64_t width = drafted ? max_draft : max_len;
      if (place.index < width) {
        id = (drafted ? draft_tokens : input_ids)[place.slot * width + place.index];
        batch_id = static_cast<int32_t>(place.slot);
      }
    }
    ids[row] = id;
    batch_ids[row] = batch_id;
  }

  // The packed token `row` by a prefix sum of the lengths.
  __device__ void pack(const int32_t* prefix, int64_t row) const {
    if (row >= tokens) return;
    const Place place = place_of(prefix, bsz, row);
    write(row, place, place.slot >= 0 && drafting(place.slot));
  }

  // For few slots, tokens that are drafts: a block does kDraftSlots slots. A draft's id is asked for before it is known
  // where it goes. A batch with a length that is not sound is left to pack_others(): slots might overlap.
  template <int kPer>
  __device__ void pack_drafts(unsigned block, SlotSums<kPer>& sums) const {
    const int slot = static_cast<int>(block * kDraftSlots + threadIdx.x / kDraftLanes);
    const int64_t lane = threadIdx.x % kDraftLanes, drafts = slot * max_draft;
    const bool drafted = slot < bsz && drafting(slot);
    const int64_t length = slot < bsz ? seq_len[slot] : 0;
    const int64_t first = slot < bsz && lane < max_draft ? draft_tokens[drafts + lane] : 2;
    uint32_t own[kPer];
    sums.add([this](int b) { return static_cast<uint32_t>(seq_len[b]); }, bsz, own);
    if (!__syncthreads_and(sound(own)) || !drafted) return;
    const int64_t start = sums.start(slot), left = tokens - start;
    for (int64_t i = lane; i < length && i < left; i += kDraftLanes) {
      const bool held = i < max_draft;
      ids[start + i] = i == lane ? first : held ? draft_tokens[drafts + i] : 2;
      batch_ids[start + i] = held ? slot : -1;
    }
  }

  template <int kPer>
  struct Table {
    SlotSums<kPer> sums;
    bool drafting[SlotSums<kPer>::kSlots];
  };

  // For few slots, the packed token `row` of each thread unless pack_drafts() writes it. Most batches decode: they are
  // known not to need a search by the first barrier.
  template <int kPer>
  __device__ void pack_others(int64_t row, Table<kPer>& table) const {
    bool all_drafts = true;
    uint32_t own[kPer];
    const auto length = [&](int b) {
      const bool drafted = drafting(b);
      const int32_t tokens_of_slot = seq_len[b];
      table.drafting[b] = drafted;
      all_drafts &= tokens_of_slot == 0 || drafted;
      return static_cast<uint32_t>(tokens_of_slot);
    };
    table.sums.add(length, bsz, own);
    const bool own_sound = sound(own);
    if (__syncthreads_and(own_sound && all_drafts)) {
      if (row < tokens && row >= table.sums.total()) write(row, {-1, 0}, false);
      return;
    }
    table.sums.finish();
    const bool all_sound = __syncthreads_and(own_sound);
    if (row >= tokens) return;
    const Place place = table.sums.place(row);
    const bool drafted = place.slot >= 0 && table.drafting[place.slot];
    if (!drafted || !all_sound) write(row, place, drafted);
  }

 private:
  template <int kPer>
  __device__ static bool sound(const uint32_t (&lengths)[kPer]) {
    bool sound = true;
    for (int k = 0; k < kPer; ++k) sound &= lengths[k] <= kSoundLength;
    return sound;
  }
};

}  // namespace opgold
