// mtp_step_paddle: takes back the cache blocks of stopped slots and gives every slot that needs one its next block.
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kSlots = 256;  // threads, and slots that are looked at together
constexpr int kLanes = 32;

// Sums over slots: blocks that they give back, and blocks that they need.
struct Blocks {
  uint64_t freed;
  uint64_t needed;

  __device__ Blocks operator+(const Blocks& other) const { return {freed + other.freed, needed + other.needed}; }
};
struct Larger {
  __device__ uint64_t operator()(uint64_t a, uint64_t b) const { return a < b ? b : a; }
};
using BlockSums = cub::BlockScan<uint64_t, kSlots, cub::BLOCK_SCAN_WARP_SCANS>;
using Argmax = cub::BlockReduce<uint64_t, kSlots>;

// A slot's blocks of its row of block_tables, and what is to be done with it.
struct Slot {
  int64_t first = 0;  // its first own block; before it stand those of the prompt
  uint32_t used = 0;
  bool ended = true;
  int64_t next = -1;  // column that needs a block

  __device__ Blocks blocks() const { return {ended ? used : 0u, next >= 0}; }
};

struct Batch {
  const bool* base_model_stop_flags;
  bool* stop_flags;
  bool* batch_drop;
  int32_t* seq_lens_this_time;
  int32_t* seq_lens_decoder;
  int32_t* block_tables;
  int32_t* encoder_block_lens;
  int32_t* used_list_len;
  int32_t* free_list;
  int32_t* free_list_len;
  int32_t* status;
  int64_t bsz;
  int64_t columns;
  int64_t capacity;  // of free_list
  uint32_t block_size;
  uint32_t ahead;  // tokens beyond the cached ones that must have a block

  __device__ int32_t* row(int64_t slot) const { return block_tables + slot * columns; }

  // Bounded by the row for any values.
  __device__ Slot slot(int64_t b) const {
    Slot slot;
    if (b >= bsz) return slot;
    const int64_t prompt = encoder_block_lens[b], used = used_list_len[b];
    const uint32_t cached = seq_lens_decoder[b];
    slot.ended = base_model_stop_flags[b] | batch_drop[b];
    slot.first = prompt < 0 ? 0 : prompt < columns ? prompt : columns;
    slot.used = used < 0 ? 0 : static_cast<uint32_t>(used < columns - slot.first ? used : columns - slot.first);
    const uint32_t column = (cached + ahead) / block_size;
    if (!slot.ended && column < columns && row(b)[column] == -1) slot.next = column;
    return slot;
  }

  // Where a slot stands among those that may be dropped: more blocks first, then lower slots. 0 for one that may not.
  __device__ uint64_t rank(const Slot& slot, int64_t b) const {
    return slot.ended || slot.used == 0 ? 0 : uint64_t(slot.used) << 32 | (UINT32_MAX - uint32_t(b));
  }
  __device__ static int64_t ranked(uint64_t rank) { return UINT32_MAX - uint32_t(rank); }

  // Moves column `j` of a slot's own blocks to the top of the free blocks, `at` of which stand below.
  __device__ void push(int64_t b, const Slot& slot, int64_t j, uint64_t at) const {
    int32_t& cell = row(b)[slot.first + j];
    if (at < uint64_t(capacity)) free_list[at] = cell;
    cell = -1;
  }
};

union Storage {
  BlockSums::TempStorage sums;
  Argmax::TempStorage argmax;
};

// What a block of threads shares.
struct Shared {
  Storage storage;
  uint64_t victim;
  Slot slots[kSlots];
  uint64_t freed_before[kSlots];
};

// The highest rank below `than`, to all threads; 0 if there is none.
__device__ uint64_t next_victim(const Batch& batch, uint64_t than, Shared& shared) {
  uint64_t best = 0;
  for (int64_t b = threadIdx.x; b < batch.bsz; b += kSlots) {
    const uint64_t rank = batch.rank(batch.slot(b), b);
    if (rank < than && rank > best) best = rank;
  }
  best = Argmax(shared.storage.argmax).Reduce(best, Larger{});
  if (threadIdx.x == 0) shared.victim = best;
  __syncthreads();
  return shared.victim;
}

// Sums over all slots before the thread's own of the chunk, and over the whole chunk. Both are scanned as one number:
// a chunk needs at most kSlots blocks.
__device__ Blocks scan(const Slot& slot, Shared& shared, Blocks& total) {
  constexpr int kNeededBits = 16;
  const Blocks own = slot.blocks();
  uint64_t before, all;
  BlockSums(shared.storage.sums).ExclusiveSum(own.freed << kNeededBits | own.needed, before, all);
  __syncthreads();
  const auto parted = [](uint64_t sums) { return Blocks{sums >> kNeededBits, sums & ((1u << kNeededBits) - 1)}; };
  total = parted(all);
  return parted(before);
}

// Gives back the blocks of the ended slots of a chunk: a warp takes one of its 32 slots after the other.
__device__ void free_ended(const Batch& batch, int64_t chunk, const Slot& slot, uint64_t at, Shared& shared) {
  shared.slots[threadIdx.x] = slot;
  shared.freed_before[threadIdx.x] = at;
  const unsigned lane = threadIdx.x % kLanes;
  unsigned ended = __ballot_sync(UINT32_MAX, slot.ended && slot.used > 0);  // also orders the stores above
  __syncwarp();
  for (; ended; ended &= ended - 1) {
    const unsigned turn = threadIdx.x - lane + __ffs(static_cast<int>(ended)) - 1;
    const Slot own = shared.slots[turn];
    for (int64_t j = lane; j < own.used; j += kLanes)
      batch.push(chunk + turn, own, j, shared.freed_before[turn] + static_cast<uint64_t>(j));
  }
  if (slot.ended && slot.used > 0) {
    batch.encoder_block_lens[chunk + threadIdx.x] = 0;
    batch.used_list_len[chunk + threadIdx.x] = 0;
  }
}

// Drops slots, most blocks first, until the free blocks suffice for the others.
__device__ void drop_victims(const Batch& batch, uint64_t last, uint64_t free, Shared& shared) {
  uint64_t victim = UINT64_MAX;
  do {
    victim = next_victim(batch, victim, shared);
    const int64_t b = Batch::ranked(victim);
    const Slot slot = batch.slot(b);
    __syncthreads();  // all have seen the slot
    for (int64_t j = threadIdx.x; j < slot.used; j += kSlots) batch.push(b, slot, j, free + static_cast<uint64_t>(j));
    if (threadIdx.x == 0) {
      batch.stop_flags[b] = batch.batch_drop[b] = true;
      batch.seq_lens_this_time[b] = batch.seq_lens_decoder[b] = batch.used_list_len[b] = 0;
    }
    free += slot.used;
    __syncthreads();
  } while (victim != last);
}

__global__ void __launch_bounds__(kSlots) step(Batch batch) {
  __shared__ Shared shared;
  const int32_t length = *batch.free_list_len;
  const uint64_t kept = length < 0 ? 0 : length < batch.capacity ? length : batch.capacity;
  const bool once = batch.bsz <= kSlots;  // then a slot's own thread keeps what it has seen

  // Nothing is changed before it is known that the blocks suffice.
  Slot slot;
  Blocks before, sum{0, 0};
  int64_t seen = 0;
  do {  // at least once: all have read free_list_len then
    Blocks total;
    slot = batch.slot(seen + threadIdx.x);
    before = scan(slot, shared, total);
    sum = sum + total;
    seen += kSlots;
  } while (seen < batch.bsz);
  uint64_t last = UINT64_MAX, free = kept + sum.freed;
  while (sum.needed > free) {  // every turn has another victim
    last = next_victim(batch, last, shared);
    if (last == 0) {
      if (threadIdx.x == 0) *batch.status = 0;
      return;
    }
    const Slot victim = batch.slot(Batch::ranked(last));
    free += victim.used;
    sum.needed -= victim.next >= 0;
  }
  const bool dropped = last != UINT64_MAX;

  uint64_t at = kept;
  if (sum.freed > 0) {
    for (int64_t chunk = 0; chunk < batch.bsz; chunk += kSlots) {
      Blocks total = sum;
      if (!once) {
        slot = batch.slot(chunk + threadIdx.x);
        before = scan(slot, shared, total);
      }
      free_ended(batch, chunk, slot, at + before.freed, shared);
      at += total.freed;
    }
    __syncthreads();
  }
  if (dropped) drop_victims(batch, last, at, shared);

  uint64_t given = 0;
  for (int64_t chunk = 0; chunk < batch.bsz; chunk += kSlots) {
    const int64_t b = chunk + threadIdx.x;
    Blocks total = sum;
    if (!once || dropped) {
      slot = batch.slot(b);
      before = scan(slot, shared, total);
    }
    const uint64_t taken = given + before.needed;
    if (slot.next >= 0 && taken < free && free - 1 - taken < uint64_t(batch.capacity)) {
      batch.row(b)[slot.next] = batch.free_list[free - 1 - taken];
      batch.used_list_len[b] = static_cast<int32_t>(slot.used + 1);
    }
    given += total.needed;
  }
  if (threadIdx.x == 0) {
    *batch.status = 1;
    *batch.free_list_len = static_cast<int32_t>(free - sum.needed);
  }
}

void mtp_step_paddle(Stream stream, Tensor<const bool, 1> base_model_stop_flags, Tensor<bool, 1> stop_flags,
                     Tensor<bool, 1> batch_drop, Tensor<int32_t, 1> seq_lens_this_time,
                     Tensor<const int32_t, 1> seq_lens_encoder, Tensor<int32_t, 1> seq_lens_decoder,
                     Tensor<int32_t, 2> block_tables, Tensor<int32_t, 1> encoder_block_lens,
                     Tensor<int32_t, 1> used_list_len, Tensor<int32_t, 1> free_list, Tensor<int32_t, 1> free_list_len,
                     Tensor<int32_t, 1> status, int32_t block_size, int32_t max_draft_tokens) {
  const int64_t bsz = base_model_stop_flags.shape[0];
  stop_flags.require(0, bsz, "slots of base_model_stop_flags");
  batch_drop.require(0, bsz, "slots of base_model_stop_flags");
  seq_lens_this_time.require(0, bsz, "slots of base_model_stop_flags");
  seq_lens_encoder.require(0, bsz, "slots of base_model_stop_flags");
  seq_lens_decoder.require(0, bsz, "slots of base_model_stop_flags");
  block_tables.require(0, bsz, "slots of base_model_stop_flags");
  encoder_block_lens.require(0, bsz, "slots of base_model_stop_flags");
  used_list_len.require(0, bsz, "slots of base_model_stop_flags");
  free_list_len.require(0, 1, "a count");
  status.require(0, 1, "one number");
  if (block_size < 1) throw ArgumentError("block_size", block_size, ", expected at least 1");
  if (max_draft_tokens < 0) throw ArgumentError("max_draft_tokens", max_draft_tokens, ", expected at least 0");
  const Batch batch{base_model_stop_flags.data,
                    stop_flags.data,
                    batch_drop.data,
                    seq_lens_this_time.data,
                    seq_lens_decoder.data,
                    block_tables.data,
                    encoder_block_lens.data,
                    used_list_len.data,
                    free_list.data,
                    free_list_len.data,
                    status.data,
                    bsz,
                    block_tables.shape[1],
                    free_list.shape[0],
                    static_cast<uint32_t>(block_size),
                    static_cast<uint32_t>(max_draft_tokens) + 1};
  step<<<1, kSlots, 0, stream>>>(batch);
  check_launch("mtp_step_paddle");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(mtp_step_paddle, opgold::mtp_step_paddle)
