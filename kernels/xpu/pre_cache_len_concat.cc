// pre_cache_len_concat: the launcher.
#include <algorithm>

#include "bindings/export.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void pre_cache_len_concat(const int* seq_lens_decoder, const int* seq_lens_this_time, int bsz,
                                                  unsigned block_size, int* cu_seqlens_k, int* batch_ids,
                                                  int* tile_ids, int entries, int* num_blocks, int* kv_token_num);

}  // namespace xpu

namespace {

void pre_cache_len_concat(Stream stream, Tensor<const int32_t, 1> seq_lens_decoder,
                          Tensor<const int32_t, 1> seq_lens_this_time, Tensor<int32_t, 1> cu_seqlens_k,
                          Tensor<int32_t, 1> batch_ids, Tensor<int32_t, 1> tile_ids, Tensor<int32_t, 1> num_blocks,
                          Tensor<int32_t, 1> kv_token_num, int64_t /*max_dec_len*/, int64_t block_size) {
  const int bsz = count_of(seq_lens_this_time, 0), entries = count_of(batch_ids, 0);
  seq_lens_decoder.require(0, bsz, "slots of seq_lens_this_time");
  cu_seqlens_k.require(0, int64_t{bsz} + 1, "slots of seq_lens_this_time, and 1");
  tile_ids.require(0, entries, "entries of batch_ids");
  num_blocks.require(0, 1, "a count");
  kv_token_num.require(0, 1, "a count");
  if (block_size < 1) throw ArgumentError("block_size", block_size, ", expected at least 1");
  const auto size = static_cast<unsigned>(std::min<int64_t>(block_size, INT32_MAX));
  check_launch("pre_cache_len_concat",
               xpu::pre_cache_len_concat<<<clusters(), cores(), stream>>>(
                   seq_lens_decoder.data, seq_lens_this_time.data, bsz, size, cu_seqlens_k.data, batch_ids.data,
                   tile_ids.data, entries, num_blocks.data, kv_token_num.data));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(pre_cache_len_concat, opgold::pre_cache_len_concat)
