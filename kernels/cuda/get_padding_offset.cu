// get_padding_offset: packs a padded batch into one row of tokens.
#include "bindings/export.h"
#include "packing.cuh"

namespace opgold {
namespace {

struct Lengths {
  const int32_t* seq_len;
  const int32_t* seq_lens_decoder;  // null: cu_seqlens_k is cu_seqlens_q
  int64_t bsz;

  __device__ void scan_queries(int32_t* prefix, LengthScan::TempStorage& storage) const {
    scan_lengths([this](int64_t b) { return uint32_t(seq_len[b]); }, bsz, prefix, storage);
  }
  __device__ void scan_keys(int32_t* prefix, LengthScan::TempStorage& storage) const {
    scan_lengths(
        [this](int64_t b) { return uint32_t(seq_len[b]) + (seq_lens_decoder ? uint32_t(seq_lens_decoder[b]) : 0u); },
        bsz, prefix, storage);
  }
};

// Two blocks, one for each prefix sum.
__global__ void __launch_bounds__(kThreads)
    scan_prefixes(Lengths lengths, int32_t* cu_seqlens_q, int32_t* cu_seqlens_k) {
  __shared__ LengthScan::TempStorage storage;
  if (blockIdx.x == 0) lengths.scan_queries(cu_seqlens_q, storage);
  else lengths.scan_keys(cu_seqlens_k, storage);
}

__global__ void __launch_bounds__(kThreads)
    pack_tokens(TokenSource source, const int32_t* cu_seqlens_q, int64_t bsz, int64_t tokens, int64_t* x_remove_padding,
                int32_t* batch_id_per_token) {
  const int64_t row = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (row < tokens) source.pack(cu_seqlens_q, bsz, row, x_remove_padding, batch_id_per_token);
}

// For at most kChunk slots: one launch, in which each block sums all lengths itself, in one pass. The last block, which
// has no tokens, makes cu_seqlens_k; the first one also writes cu_seqlens_q.
__global__ void __launch_bounds__(kThreads)
    scan_and_pack(TokenSource source, Lengths lengths, int64_t tokens, int64_t* x_remove_padding,
                  int32_t* batch_id_per_token, int32_t* cu_seqlens_q, int32_t* cu_seqlens_k) {
  __shared__ LengthScan::TempStorage storage;
  __shared__ int32_t starts[kChunk + 1];
  if (blockIdx.x == gridDim.x - 1) {
    lengths.scan_keys(cu_seqlens_k, storage);
    return;
  }
  lengths.scan_queries(starts, storage);
  const int64_t row = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (row < tokens) source.pack(starts, lengths.bsz, row, x_remove_padding, batch_id_per_token);
  if (blockIdx.x == 0) copy_prefix(starts, lengths.bsz, cu_seqlens_q);
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

  const TokenSource source{input_ids.data, input_ids.shape[1], drafting ? draft_tokens.data : nullptr,
                           drafting ? draft_tokens.shape[1] : 0, seq_lens_encoder.data};
  const Lengths lengths{seq_len.data, seq_lens_decoder.data, bsz};
  const int blocks = blocks_for(cpu_token_num);
  if (bsz <= kChunk) {
    scan_and_pack<<<blocks + 1, kThreads, 0, stream>>>(source, lengths, cpu_token_num, x_remove_padding.data,
                                                   batch_id_per_token.data, cu_seqlens_q.data, cu_seqlens_k.data);
  } else {
    scan_prefixes<<<2, kThreads, 0, stream>>>(lengths, cu_seqlens_q.data, cu_seqlens_k.data);
    pack_tokens<<<blocks, kThreads, 0, stream>>>(source, cu_seqlens_q.data, bsz, cpu_token_num, x_remove_padding.data,
                                                 batch_id_per_token.data);
  }
  check_launch("get_padding_offset");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(get_padding_offset, opgold::get_padding_offset)
