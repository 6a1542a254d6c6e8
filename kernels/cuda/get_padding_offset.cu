// get_padding_offset: packs a padded batch into one row of tokens.
#include "bindings/export.h"
#include "packing.cuh"

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
  __device__ void write(unsigned which, LengthScan::TempStorage& storage) const {
    const auto queries = [this](int64_t b) { return static_cast<uint32_t>(seq_len[b]); };
    const auto keys = [&](int64_t b) {
      return queries(b) + (seq_lens_decoder ? static_cast<uint32_t>(seq_lens_decoder[b]) : 0u);
    };
    if (which == 0) scan_lengths(queries, bsz, cu_seqlens_q, storage);
    else scan_lengths(keys, bsz, cu_seqlens_k, storage);
  }
};

__global__ void __launch_bounds__(kThreads) scan_prefixes(Prefixes prefixes) {
  __shared__ LengthScan::TempStorage storage;
  prefixes.write(blockIdx.x, storage);
}

__global__ void __launch_bounds__(kThreads)
    pack_tokens(TokenSource source, Prefixes prefixes, int64_t tokens, int64_t* x_remove_padding,
                int32_t* batch_id_per_token) {
  const int64_t row = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (row < tokens) source.pack(prefixes.cu_seqlens_q, prefixes.bsz, row, x_remove_padding, batch_id_per_token);
}

// For at most kChunk slots both kernels in one launch: each block that packs tokens sums the lengths itself.
__global__ void __launch_bounds__(kThreads)
    scan_and_pack(TokenSource source, Prefixes prefixes, int64_t tokens, int64_t* x_remove_padding,
                  int32_t* batch_id_per_token) {
  __shared__ SlotTable table;
  if (blockIdx.x < kPrefixes) {
    prefixes.write(blockIdx.x, table.storage);
    return;
  }
  table.scan_tokens(source, prefixes.seq_len, prefixes.bsz);
  const int64_t row = (blockIdx.x - kPrefixes) * int64_t(kThreads) + threadIdx.x;
  if (row < tokens) table.pack(source, prefixes.bsz, row, x_remove_padding, batch_id_per_token);
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
  const Prefixes prefixes{seq_len.data, seq_lens_decoder.data, bsz, cu_seqlens_q.data, cu_seqlens_k.data};
  const int blocks = blocks_for(cpu_token_num);
  if (bsz <= kChunk) {
    scan_and_pack<<<kPrefixes + blocks, kThreads, 0, stream>>>(source, prefixes, cpu_token_num, x_remove_padding.data,
                                                               batch_id_per_token.data);
  } else {
    scan_prefixes<<<kPrefixes, kThreads, 0, stream>>>(prefixes);
    pack_tokens<<<blocks, kThreads, 0, stream>>>(source, prefixes, cpu_token_num, x_remove_padding.data,
                                                 batch_id_per_token.data);
  }
  check_launch("get_padding_offset");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(get_padding_offset, opgold::get_padding_offset)
