// pre_cache_len_concat: key lengths, and the tiles of cached keys, of the slots that run tokens.
#include "bindings/export.h"
#include "segments.cuh"
#include "slot_sums.cuh"

namespace opgold {
namespace {

// Quotients of numbers below 2^31 by a size below 2^31, as products with 2^shift / size, rounded up: by less than 1, so
// that a product is too large by less than 2^31, or by less than 1 / size in its quotient.
struct Divisor {
  uint32_t factor;
  uint32_t shift;

  static Divisor of(uint32_t size) {
    uint32_t log = 0;  // rounded up
    while (uint64_t(1) << log < size) ++log;
    return {static_cast<uint32_t>(((uint64_t(1) << (31 + log)) + size - 1) / size), 31 + log};
  }
  __device__ uint32_t quotient(uint32_t number) const {
    return static_cast<uint32_t>(uint64_t(number) * factor >> shift);
  }
};

struct CachedKeys {
  const int32_t* seq_lens_decoder;
  const int32_t* seq_lens_this_time;
  int64_t bsz;
  Divisor block_size;
  int32_t* cu_seqlens_k;
  int32_t* batch_ids;
  int32_t* tile_ids;
  int64_t tiles;
  int32_t* num_blocks;
  int32_t* kv_token_num;

  struct Lengths {
    uint32_t tokens;
    uint32_t before;

    // Keys, and tiles of cached ones.
    __device__ Span span(const CachedKeys& keys) const {
      const uint32_t cached = tokens != 0 ? before : 0;
      return {cached + tokens, cached != 0 ? keys.block_size.quotient(cached - 1) + 1 : 0};
    }
  };

  __device__ Lengths operator()(int64_t slot) const {
    return {uint32_t(seq_lens_this_time[slot]), uint32_t(seq_lens_decoder[slot])};
  }
  __device__ void put(int64_t entry, int64_t slot, int64_t tile) const {
    batch_ids[entry] = static_cast<int32_t>(slot);
    tile_ids[entry] = static_cast<int32_t>(tile);
  }
};

// The first block writes the sums, the others the tiles.
__global__ void __launch_bounds__(kThreads) list_tiles(CachedKeys keys) {
  __shared__ SpanTable table;
  const bool sums = blockIdx.x == 0;
  const int64_t stride = int64_t(gridDim.x - 1) * kThreads;
  int64_t tile = sums ? keys.tiles : int64_t(blockIdx.x - 1) * kThreads + threadIdx.x;
  const Span all = for_each_chunk(keys, keys.bsz, table, [&](int64_t first, int slots) {
    const int64_t end = table.starts[slots].emitted;
    for (; tile < end && tile < keys.tiles; tile += stride) {
      const int slot = table.slot_at(static_cast<uint32_t>(tile), slots);
      keys.put(tile, first + slot, tile - table.starts[slot].emitted);
    }
    if (sums)
      for (int slot = threadIdx.x; slot < slots; slot += kThreads)
        keys.cu_seqlens_k[first + slot + 1] = static_cast<int32_t>(table.starts[slot + 1].consumed);
  });
  for (; tile < keys.tiles; tile += stride) keys.put(tile, -1, -1);
  if (sums && threadIdx.x == 0) {
    keys.cu_seqlens_k[0] = 0;
    *keys.num_blocks = static_cast<int32_t>(all.emitted);
    *keys.kv_token_num = static_cast<int32_t>(all.consumed);
  }
}

constexpr int kWarpSize = 32;
constexpr int kWarps = kThreads / kWarpSize;
constexpr uint32_t kWarpTiles = 4096;  // of a slot, that its warp writes

// For at most kThreads slots, without a search: the first block writes the sums of keys, a warp of the next blocks a
// slot's tiles, and a thread of the others an entry behind the tiles. If a slot has more than kWarpTiles, those threads
// write all entries.
__global__ void __launch_bounds__(kThreads) list_tiles_by_slot(CachedKeys keys, unsigned slot_blocks) {
  __shared__ SlotSums<1> sums;
  if (blockIdx.x == 0) {
    sums.write_prefix([&](int b) { return keys(b).span(keys).consumed; }, keys.bsz, keys.cu_seqlens_k);
    if (threadIdx.x == 0) *keys.kv_token_num = static_cast<int32_t>(sums.total());
    return;
  }
  const unsigned block = blockIdx.x - 1;
  const int slot = static_cast<int>(block * kWarps + threadIdx.x / kWarpSize);
  const bool for_slots = block < slot_blocks, has_slot = for_slots && slot < keys.bsz;
  const CachedKeys::Lengths own = has_slot ? keys(slot) : CachedKeys::Lengths{};
  uint32_t tiles[1];
  sums.add([&](int b) { return keys(b).span(keys).emitted; }, keys.bsz, tiles);
  const bool by_slot = __syncthreads_and(tiles[0] <= kWarpTiles);
  if (for_slots) {
    if (block == 0 && threadIdx.x == 0) *keys.num_blocks = static_cast<int32_t>(sums.total());
    if (!by_slot || !has_slot) return;
    const int64_t start = sums.start(slot), left = keys.tiles - start, count = own.span(keys).emitted;
    for (int64_t i = threadIdx.x % kWarpSize; i < count && i < left; i += kWarpSize) keys.put(start + i, slot, i);
    return;
  }
  const int64_t tile = int64_t(block - slot_blocks) * kThreads + threadIdx.x;
  if (by_slot) {
    if (tile < keys.tiles && tile >= sums.total()) keys.put(tile, -1, -1);
    return;
  }
  sums.finish();
  __syncthreads();
  if (tile >= keys.tiles) return;
  const Place place = sums.place(tile);
  keys.put(tile, place.slot, place.slot < 0 ? -1 : place.index);
}

void pre_cache_len_concat(Stream stream, Tensor<const int32_t, 1> seq_lens_decoder,
                          Tensor<const int32_t, 1> seq_lens_this_time, Tensor<int32_t, 1> cu_seqlens_k,
                          Tensor<int32_t, 1> batch_ids, Tensor<int32_t, 1> tile_ids, Tensor<int32_t, 1> num_blocks,
                          Tensor<int32_t, 1> kv_token_num, int64_t /*max_dec_len*/, int64_t block_size) {
  const int64_t bsz = seq_lens_this_time.shape[0], tiles = batch_ids.shape[0];
  seq_lens_decoder.require(0, bsz, "slots of seq_lens_this_time");
  cu_seqlens_k.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  tile_ids.require(0, tiles, "entries of batch_ids");
  num_blocks.require(0, 1, "a count");
  kv_token_num.require(0, 1, "a count");
  if (block_size < 1) throw ArgumentError("block_size", block_size, ", expected at least 1");
  const uint32_t size = block_size < INT32_MAX ? static_cast<uint32_t>(block_size) : uint32_t(INT32_MAX);
  const CachedKeys keys{seq_lens_decoder.data, seq_lens_this_time.data, bsz, Divisor::of(size), cu_seqlens_k.data,
                        batch_ids.data, tile_ids.data, tiles, num_blocks.data, kv_token_num.data};
  if (bsz > 0 && bsz <= kThreads) {
    const unsigned slot_blocks = static_cast<unsigned>((bsz + kWarps - 1) / kWarps);
    list_tiles_by_slot<<<1 + slot_blocks + blocks_for(tiles), kThreads, 0, stream>>>(keys, slot_blocks);
  } else {
    list_tiles<<<1 + summing_blocks(blocks_for(tiles)), kThreads, 0, stream>>>(keys);
  }
  check_launch("pre_cache_len_concat");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(pre_cache_len_concat, opgold::pre_cache_len_concat)
