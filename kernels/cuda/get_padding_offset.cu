// get_padding_offset: packs a padded batch into one row of tokens.
#include "bindings/export.h"
#include "packed_tokens.cuh"

namespace opgold {
namespace {

constexpr int kPrefixes = 2;

struct Prefixes {
  const int32_t* seq_len;
  const int32_t* seq_lens_decoder;  // null: cu_seqlens_k is cu_seqlens_q
  int64_t bsz;
  int32_t* cu_seqlens_q;
  int32_t* cu_seqlens_k;

  // A block writes one of the two.
  __device__ int32_t* sums(unsigned which) const { return which == 0 ? cu_seqlens_q : cu_seqlens_k; }
  __device__ uint32_t length(unsigned which, int64_t b) const {
    const uint32_t cached = which == 1 && seq_lens_decoder ? seq_lens_decoder[b] : 0;
    return seq_len[b] + cached;
  }
};

__global__ void __launch_bounds__(kThreads) scan_prefixes(Prefixes prefixes) {
  __shared__ LengthScan::TempStorage storage;
  const unsigned which = blockIdx.x;
  scan_lengths([&](int64_t b) { return prefixes.length(which, b); }, prefixes.bsz, prefixes.sums(which), storage);
}

__global__ void __launch_bounds__(kThreads) pack_tokens(TokenPacking packing, const int32_t* cu_seqlens_q) {
  packing.pack(cu_seqlens_q, blockIdx.x * int64_t(kThreads) + threadIdx.x);
}

// For few slots both kernels in one launch: blocks for drafts, then for prefixes, then for all other tokens.
template <int kPer>
__global__ void __launch_bounds__(kThreads)
    pack_few_slots(TokenPacking packing, Prefixes prefixes, unsigned draft_blocks) {
  __shared__ typename TokenPacking::Table<kPer> table;
  if (blockIdx.x < draft_blocks) return packing.pack_drafts(blockIdx.x, table.sums);
  const unsigned block = blockIdx.x - draft_blocks;
  if (block < kPrefixes)
    table.sums.write_prefix([&](int b) { return prefixes.length(block, b); }, prefixes.bsz, prefixes.sums(block));
  else
    packing.pack_others((block - kPrefixes) * int64_t(kThreads) + threadIdx.x, table);
}

void get_padding_offset(Stream stream, Tensor<const int64_t, 2> input_ids, Tensor<const int32_t, 1> seq_len,
                        Optional<Tensor<const int64_t, 2>> draft_tokens,
                        Optional<Tensor<const int32_t, 1>> seq_lens_encoder,
                        Optional<Tensor<const int32_t, 1>> seq_lens_decoder, Tensor<int64_t, 1> x_remove_padding,
                        Tensor<int32_t, 1> batch_id_per_token, Tensor<int32_t, 1> cu_seqlens_q,
                        Tensor<int32_t, 1> cu_seqlens_k, int64_t cpu_token_num) {
  const int64_t bsz = seq_len.shape[0];
  input_ids.require(0, bsz, "slots of seq_len");
  if (draft_tokens.given) draft_tokens.require(0, bsz, "slots of seq_len");
  if (seq_lens_encoder.given) seq_lens_encoder.require(0, bsz, "slots of seq_len");
  if (seq_lens_decoder.given) seq_lens_decoder.require(0, bsz, "slots of seq_len");
  x_remove_padding.require(0, cpu_token_num, "cpu_token_num");
  batch_id_per_token.require(0, cpu_token_num, "cpu_token_num");
  cu_seqlens_q.require(0, bsz + 1, "slots of seq_len, and 1");
  cu_seqlens_k.require(0, bsz + 1, "slots of seq_len, and 1");
  const bool drafting = draft_tokens.given && draft_tokens.shape[1] > 0;
  if (drafting && !seq_lens_encoder.given) throw ArgumentError("seq_lens_encoder", "required with draft_tokens");

  const TokenPacking packing{input_ids.data, input_ids.shape[1], drafting ? draft_tokens.data : nullptr,
                             drafting ? draft_tokens.shape[1] : 0, seq_lens_encoder.data, seq_len.data, bsz,
                             cpu_token_num, x_remove_padding.data, batch_id_per_token.data};
  const Prefixes prefixes{seq_len.data, seq_lens_decoder.data, bsz, cu_seqlens_q.data, cu_seqlens_k.data};
  const int blocks = blocks_for(cpu_token_num);
  const unsigned draft_blocks = packing.draft_blocks(), all_blocks = draft_blocks + kPrefixes + blocks;
  if (bsz <= kThreads) {
    pack_few_slots<1><<<all_blocks, kThreads, 0, stream>>>(packing, prefixes, draft_blocks);
  } else if (bsz <= kFewSlots) {
    pack_few_slots<kMostPer><<<all_blocks, kThreads, 0, stream>>>(packing, prefixes, draft_blocks);
  } else {
    scan_prefixes<<<kPrefixes, kThreads, 0, stream>>>(prefixes);
    pack_tokens<<<blocks, kThreads, 0, stream>>>(packing, cu_seqlens_q.data);
  }
  check_launch("get_padding_offset");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(get_padding_offset, opgold::get_padding_offset)
