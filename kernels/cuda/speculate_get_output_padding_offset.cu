// speculate_get_output_padding_offset: where each output row stands in a padded batch.
#include <algorithm>

#include "bindings/export.h"
#include "packing.cuh"

namespace opgold {
namespace {

// The padding before each slot, of which the input holds the sums up to each slot's end.
struct Padding {
  const int32_t* output_cum_offsets_tmp;
  int64_t max_seq_len;

  __device__ int32_t before(int64_t b) const { return b == 0 ? 0 : output_cum_offsets_tmp[b - 1]; }
  __device__ int64_t first_row(int64_t b, int32_t before) const { return b * max_seq_len - before; }
  __device__ int64_t first_row(int64_t b) const { return first_row(b, before(b)); }
};

__global__ void __launch_bounds__(kThreads)
    place_rows(Padding padding, const int32_t* seq_lens_output, int64_t bsz, int64_t rows,
               int32_t* output_padding_offset, int32_t* output_cum_offsets) {
  const int64_t row = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (row < bsz) output_cum_offsets[row] = padding.before(row);
  if (row >= rows) return;
  const int64_t slot = slot_of([=](int64_t b) { return padding.first_row(b); }, bsz, row);
  output_padding_offset[row] = row - padding.first_row(slot) < seq_lens_output[slot] ? padding.before(slot) : 0;
}

constexpr int kStagingThreads = 128;
constexpr int kFewStaged = 256;
constexpr int kMostStaged = 1024;

// For at most kSlots slots, a block first takes all that it may look at into shared memory, at once.
template <int kSlots>
__global__ void __launch_bounds__(kStagingThreads)
    place_rows_of_few(Padding padding, const int32_t* seq_lens_output, int64_t bsz, int64_t rows,
                      int32_t* output_padding_offset, int32_t* output_cum_offsets) {
  constexpr int kPer = kSlots / kStagingThreads;
  __shared__ int32_t starts[kSlots], befores[kSlots], lengths[kSlots];
  int32_t before[kPer], length[kPer];
#pragma unroll
  for (int k = 0; k < kPer; ++k) {
    const int slot = k * kStagingThreads + static_cast<int>(threadIdx.x);
    before[k] = slot < bsz ? padding.before(slot) : 0;
    length[k] = slot < bsz ? seq_lens_output[slot] : 0;
  }
#pragma unroll
  for (int k = 0; k < kPer; ++k) {
    const int slot = k * kStagingThreads + static_cast<int>(threadIdx.x);
    if (blockIdx.x == 0 && slot < bsz) output_cum_offsets[slot] = before[k];
    starts[slot] = slot < bsz ? static_cast<int32_t>(padding.first_row(slot, before[k])) : INT32_MAX;
    befores[slot] = before[k];
    lengths[slot] = length[k];
  }
  __syncthreads();
  const int64_t row = blockIdx.x * int64_t(kStagingThreads) + threadIdx.x;
  if (row >= rows) return;
  const int place = row < INT32_MAX ? static_cast<int>(row) : INT32_MAX;  // no slot has rows there
  const int slot = slot_of([&](int b) { return starts[b]; }, kSlots, place);
  output_padding_offset[row] = row - starts[slot] < lengths[slot] ? befores[slot] : 0;
}

void speculate_get_output_padding_offset(Stream stream, Tensor<const int32_t, 1> output_cum_offsets_tmp,
                                         Tensor<const int32_t, 1> seq_lens_output,
                                         Tensor<int32_t, 1> output_padding_offset,
                                         Tensor<int32_t, 1> output_cum_offsets, int64_t out_token_num,
                                         int64_t max_seq_len) {
  const int64_t bsz = seq_lens_output.shape[0];
  output_cum_offsets_tmp.require(0, bsz, "slots of seq_lens_output");
  output_padding_offset.require(0, out_token_num, "out_token_num");
  output_cum_offsets.require(0, bsz, "slots of seq_lens_output");
  const int64_t limit = INT32_MAX / std::max<int64_t>(1, bsz);
  if (max_seq_len < 0 || max_seq_len > limit)
    throw ArgumentError("max_seq_len", max_seq_len, ", expected 0 to ", limit, " for ", bsz, " slots");
  const Padding padding{output_cum_offsets_tmp.data, max_seq_len};
  if (bsz <= kMostStaged) {
    const auto blocks =
        static_cast<unsigned>(std::max<int64_t>(1, (out_token_num + kStagingThreads - 1) / kStagingThreads));
    if (bsz <= kFewStaged)
      place_rows_of_few<kFewStaged><<<blocks, kStagingThreads, 0, stream>>>(
          padding, seq_lens_output.data, bsz, out_token_num, output_padding_offset.data, output_cum_offsets.data);
    else
      place_rows_of_few<kMostStaged><<<blocks, kStagingThreads, 0, stream>>>(
          padding, seq_lens_output.data, bsz, out_token_num, output_padding_offset.data, output_cum_offsets.data);
  } else {
    place_rows<<<blocks_for(std::max(out_token_num, bsz)), kThreads, 0, stream>>>(
        padding, seq_lens_output.data, bsz, out_token_num, output_padding_offset.data, output_cum_offsets.data);
  }
  check_launch("speculate_get_output_padding_offset");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_get_output_padding_offset, opgold::speculate_get_output_padding_offset)
