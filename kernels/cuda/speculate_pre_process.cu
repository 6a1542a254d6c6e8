// speculate_pre_process: packs a step that verifies drafts, and indexes the rows that it gives to sampling.
#include "bindings/export.h"
#include "packed_tokens.cuh"

namespace opgold {
namespace {

constexpr int kPrefixes = 3;

struct Prefixes {
  const int32_t* seq_len;
  const int32_t* seq_lens_encoder;
  int64_t bsz;
  int32_t* cu_seqlens_q;
  int32_t* cu_seqlens_k;
  int32_t* cu_seqlens_q_output;
  int32_t* real_output_token_num;

  // A block writes one of the three: two of tokens, and the last of output rows.
  __device__ int32_t* sums(unsigned which) const {
    return which == 0 ? cu_seqlens_q : which == 1 ? cu_seqlens_k : cu_seqlens_q_output;
  }
  __device__ uint32_t rows(int64_t b) const {
    return static_cast<uint32_t>(output_rows(seq_len[b], seq_lens_encoder[b]));
  }
  __device__ uint32_t length(unsigned which, int64_t b) const {
    return which < 2 ? static_cast<uint32_t>(seq_len[b]) : rows(b);
  }
};

struct Output {
  int64_t count;
  int32_t* batch_id_per_token_output;

  __device__ void write(int64_t row, const Place& place) const {
    if (row < count) batch_id_per_token_output[row] = static_cast<int32_t>(place.slot);
  }
};

__device__ inline int64_t row_of(unsigned block) { return block * int64_t(kThreads) + threadIdx.x; }

__global__ void __launch_bounds__(kThreads) scan_prefixes(Prefixes prefixes) {
  __shared__ LengthScan::TempStorage storage;
  const unsigned which = blockIdx.x;
  scan_lengths([&](int64_t b) { return prefixes.length(which, b); }, prefixes.bsz, prefixes.sums(which), storage);
  if (which == 2 && threadIdx.x == 0) *prefixes.real_output_token_num = prefixes.cu_seqlens_q_output[prefixes.bsz];
}

__global__ void __launch_bounds__(kThreads)
    write_rows(Prefixes prefixes, TokenPacking packing, unsigned token_blocks, Output output) {
  if (blockIdx.x < token_blocks) return packing.pack(prefixes.cu_seqlens_q, row_of(blockIdx.x));
  const int64_t row = row_of(blockIdx.x - token_blocks);
  output.write(row, place_of(prefixes.cu_seqlens_q_output, prefixes.bsz, row));
}

// For few slots both kernels in one launch: blocks for drafts, for prefixes, for all other tokens, for output rows.
template <int kPer>
__global__ void __launch_bounds__(kThreads)
    write_few_slots(Prefixes prefixes, TokenPacking packing, unsigned draft_blocks, unsigned token_blocks,
                    Output output) {
  __shared__ typename TokenPacking::Table<kPer> table;
  unsigned block = blockIdx.x;
  if (block < draft_blocks) return packing.pack_drafts(block, table.sums);
  block -= draft_blocks;
  if (block < kPrefixes) {
    table.sums.write_prefix([&](int b) { return prefixes.length(block, b); }, prefixes.bsz, prefixes.sums(block));
    if (block == 2 && threadIdx.x == 0) *prefixes.real_output_token_num = static_cast<int32_t>(table.sums.total());
    return;
  }
  block -= kPrefixes;
  if (block < token_blocks) return packing.pack_others(row_of(block), table);
  const int64_t row = row_of(block - token_blocks);
  table.sums.scan([&](int b) { return prefixes.rows(b); }, prefixes.bsz);
  output.write(row, table.sums.place(row));
}

void speculate_pre_process(Stream stream, Tensor<const int64_t, 2> input_ids, Tensor<const int32_t, 1> seq_len,
                           Tensor<const int64_t, 2> draft_tokens, Tensor<const int32_t, 1> seq_lens_encoder,
                           Tensor<const int32_t, 1> seq_lens_decoder, Tensor<int64_t, 1> ids_remove_padding,
                           Tensor<int32_t, 1> batch_id_per_token, Tensor<int32_t, 1> cu_seqlens_q,
                           Tensor<int32_t, 1> cu_seqlens_k, Tensor<int32_t, 1> cu_seqlens_q_output,
                           Tensor<int32_t, 1> batch_id_per_token_output, Tensor<int32_t, 1> real_output_token_num,
                           int64_t cpu_token_num) {
  const int64_t bsz = seq_len.shape[0];
  const int64_t max_draft = draft_tokens.shape[1];
  input_ids.require(0, bsz, "slots of seq_len");
  draft_tokens.require(0, bsz, "slots of seq_len");
  seq_lens_encoder.require(0, bsz, "slots of seq_len");
  seq_lens_decoder.require(0, bsz, "slots of seq_len");
  ids_remove_padding.require(0, cpu_token_num, "cpu_token_num");
  batch_id_per_token.require(0, cpu_token_num, "cpu_token_num");
  cu_seqlens_q.require(0, bsz + 1, "slots of seq_len, and 1");
  cu_seqlens_k.require(0, bsz + 1, "slots of seq_len, and 1");
  cu_seqlens_q_output.require(0, bsz + 1, "slots of seq_len, and 1");
  batch_id_per_token_output.require(0, bsz * max_draft, "cells of draft_tokens");
  real_output_token_num.require(0, 1, "one count");

  const Prefixes prefixes{seq_len.data, seq_lens_encoder.data, bsz, cu_seqlens_q.data, cu_seqlens_k.data,
                          cu_seqlens_q_output.data, real_output_token_num.data};
  const TokenPacking packing{input_ids.data, input_ids.shape[1], draft_tokens.data, max_draft, seq_lens_encoder.data,
                             seq_len.data, bsz, cpu_token_num, ids_remove_padding.data, batch_id_per_token.data};
  const Output output{bsz * max_draft, batch_id_per_token_output.data};
  const unsigned token_blocks = blocks_for(cpu_token_num), blocks = token_blocks + blocks_for(bsz * max_draft);
  const unsigned draft_blocks = packing.draft_blocks(), all_blocks = draft_blocks + kPrefixes + blocks;
  if (bsz <= kThreads) {
    write_few_slots<1><<<all_blocks, kThreads, 0, stream>>>(prefixes, packing, draft_blocks, token_blocks, output);
  } else if (bsz <= kFewSlots) {
    write_few_slots<kMostPer>
        <<<all_blocks, kThreads, 0, stream>>>(prefixes, packing, draft_blocks, token_blocks, output);
  } else {
    scan_prefixes<<<kPrefixes, kThreads, 0, stream>>>(prefixes);
    write_rows<<<blocks, kThreads, 0, stream>>>(prefixes, packing, token_blocks, output);
  }
  check_launch("speculate_pre_process");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_pre_process, opgold::speculate_pre_process)
