// speculate_pre_process: packs a step that verifies drafts, and indexes the rows that it gives to sampling.
#include "bindings/export.h"
#include "packing.cuh"

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

  __device__ uint32_t tokens(int64_t b) const { return static_cast<uint32_t>(seq_len[b]); }
  __device__ uint32_t rows(int64_t b) const {
    return static_cast<uint32_t>(output_rows(seq_len[b], seq_lens_encoder[b]));
  }
  __device__ void scan_tokens(int32_t* prefix, LengthScan::TempStorage& storage) const {
    scan_lengths([this](int64_t b) { return tokens(b); }, bsz, prefix, storage);
  }
  __device__ void scan_rows(int32_t* prefix, LengthScan::TempStorage& storage) const {
    scan_lengths([this](int64_t b) { return rows(b); }, bsz, prefix, storage);
  }

  // A block writes one of the three.
  __device__ void write(unsigned which, LengthScan::TempStorage& storage) const {
    if (which < 2) {
      scan_tokens(which == 0 ? cu_seqlens_q : cu_seqlens_k, storage);
    } else {
      scan_rows(cu_seqlens_q_output, storage);
      if (threadIdx.x == 0) real_output_token_num[0] = cu_seqlens_q_output[bsz];
    }
  }
};

// Where packed tokens and the slots of output rows go; `blocks` blocks write tokens.
struct Tokens {
  TokenSource source;
  int64_t count;
  int64_t* ids_remove_padding;
  int32_t* batch_id_per_token;
  unsigned blocks;
};
struct Output {
  int64_t count;
  int32_t* batch_id_per_token_output;

  __device__ void write(const int32_t* starts, int64_t bsz, int64_t row) const {
    if (row < count) batch_id_per_token_output[row] = static_cast<int32_t>(place_of(starts, bsz, row).slot);
  }
};

__device__ inline int64_t row_of(unsigned block) { return block * int64_t(kThreads) + threadIdx.x; }

__global__ void __launch_bounds__(kThreads) scan_prefixes(Prefixes prefixes) {
  __shared__ LengthScan::TempStorage storage;
  prefixes.write(blockIdx.x, storage);
}

__global__ void __launch_bounds__(kThreads) write_rows(Prefixes prefixes, Tokens tokens, Output output) {
  if (blockIdx.x < tokens.blocks) {
    const int64_t row = row_of(blockIdx.x);
    if (row < tokens.count)
      tokens.source.pack(prefixes.cu_seqlens_q, prefixes.bsz, row, tokens.ids_remove_padding,
                         tokens.batch_id_per_token);
  } else {
    output.write(prefixes.cu_seqlens_q_output, prefixes.bsz, row_of(blockIdx.x - tokens.blocks));
  }
}

// For at most kChunk slots both kernels in one launch: each block that writes rows sums the lengths itself.
__global__ void __launch_bounds__(kThreads) scan_and_write_rows(Prefixes prefixes, Tokens tokens, Output output) {
  __shared__ SlotTable table;
  if (blockIdx.x < kPrefixes) {
    prefixes.write(blockIdx.x, table.storage);
    return;
  }
  const unsigned block = blockIdx.x - kPrefixes;
  if (block < tokens.blocks) {
    table.scan_tokens(tokens.source, prefixes.seq_len, prefixes.bsz);
    const int64_t row = row_of(block);
    if (row < tokens.count)
      table.pack(tokens.source, prefixes.bsz, row, tokens.ids_remove_padding, tokens.batch_id_per_token);
  } else {
    prefixes.scan_rows(table.starts, table.storage);
    output.write(table.starts, prefixes.bsz, row_of(block - tokens.blocks));
  }
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
  const int token_blocks = blocks_for(cpu_token_num);
  const Tokens tokens{{input_ids.data, input_ids.shape[1], draft_tokens.data, max_draft, seq_lens_encoder.data},
                      cpu_token_num, ids_remove_padding.data, batch_id_per_token.data,
                      static_cast<unsigned>(token_blocks)};
  const Output output{bsz * max_draft, batch_id_per_token_output.data};
  const int blocks = token_blocks + blocks_for(bsz * max_draft);
  if (bsz <= kChunk) {
    scan_and_write_rows<<<kPrefixes + blocks, kThreads, 0, stream>>>(prefixes, tokens, output);
  } else {
    scan_prefixes<<<kPrefixes, kThreads, 0, stream>>>(prefixes);
    write_rows<<<blocks, kThreads, 0, stream>>>(prefixes, tokens, output);
  }
  check_launch("speculate_pre_process");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_pre_process, opgold::speculate_pre_process)
