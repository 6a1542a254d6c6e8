// hydra_fetch_hidden_states: the hidden row of each slot's last accepted token, by the legacy output-side offsets.
#include "bindings/export.h"
#include "block_rows.cuh"

namespace opgold {
namespace {

constexpr int kAhead = 5;  // offsets that a thread loads at once: all of them for 256 slots with four drafts each

constexpr unsigned kNone = UINT32_MAX;  // no row

// Finds rows of accepted tokens.
struct Offsets {
  const int32_t* output_padding_offset;
  unsigned count;
  const int32_t* accept_token_num;
  unsigned max_seq_length;

  // The row whose place in a batch padded to max_seq_length rows a slot is that of the slot's last accepted token, or
  // kNone. The whole block looks, so that nothing hangs on the order of the offsets: the lowest row counts. A row with
  // offset 0 counts only before all rows with other offsets: behind them stand the unused ones. With `kOnce`, a thread
  // has at most kAhead offsets.
  template <bool kOnce>
  __device__ unsigned row_of(int64_t slot, unsigned (&warps)[kBlockWarps]) const {
    const uint32_t accepted = accept_token_num[slot];
    const int64_t begin = slot * int64_t(max_seq_length), left = (int64_t(1) << 31) - begin;  // rows end at 2^31
    const unsigned most = left < 0 ? 0 : left < max_seq_length ? static_cast<unsigned>(left) : max_seq_length;
    const unsigned place = static_cast<unsigned>(begin) - 1 + accepted;
    unsigned found = kNone;
    bool moved = false;  // a row of another offset than 0 stands no later than the row numbered `place`
    unsigned first = threadIdx.x;
    do {
      unsigned offset[kAhead];  // loaded before the first is looked at
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        const unsigned row = first + k * kBlockThreads;
        offset[k] = row < count ? output_padding_offset[row] : 0;
      }
      // A row and its offset, signed, sum up to between -2^31 and 2^32: to a place below 2^31 if they do as unsigned.
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        const unsigned row = first + k * kBlockThreads, wanted = place - row;
        if (offset[k] != 0 && offset[k] == wanted) found = min(found, row);
        moved |= offset[k] != 0 && static_cast<int>(wanted) >= 0;
      }
      first += kAhead * kBlockThreads;
    } while (!kOnce && first - threadIdx.x < count);
    found = __reduce_min_sync(~0u, found);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = found;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kBlockWarps; ++k) found = min(found, warps[k]);
    if (found == kNone && !__syncthreads_or(moved) && place < count) found = place;
    return accepted - 1 < most ? found : kNone;
  }
};

template <class Element>
__global__ void __launch_bounds__(kBlockThreads) fetch_rows(Offsets offsets, BlockRows<Element> rows) {
  __shared__ unsigned warps[kBlockWarps];
  const unsigned row = offsets.row_of<false>(blockIdx.x, warps);
  rows.write(blockIdx.x, row, row != kNone);
}

__global__ void __launch_bounds__(kBlockThreads) fetch_whole_rows(Offsets offsets, WholeRows<kBlockThreads> rows) {
  __shared__ unsigned warps[kBlockWarps];
  const unsigned row = offsets.row_of<true>(blockIdx.x, warps);
  if (row != kNone) rows.copy(blockIdx.x, row);
  else rows.zero(blockIdx.x);
}

template <class Element, class T>
void fetch_hidden_states(Stream stream, Tensor<const T, 2> output_hidden_states,
                         Tensor<const int32_t, 1> output_padding_offset, Tensor<const int32_t, 1> accept_token_num,
                         Tensor<T, 2> out, int64_t bsz, int64_t max_seq_length) {
  const int64_t rows = output_hidden_states.shape[0], width = output_hidden_states.shape[1];
  output_padding_offset.require(0, rows, "rows of output_hidden_states");
  if (accept_token_num.shape[0] < bsz)
    throw ArgumentError(accept_token_num.name, accept_token_num.shape[0], " slots, expected at least ", bsz);
  out.require(0, bsz, "bsz");
  out.require(1, width, "columns of output_hidden_states");
  if (max_seq_length < 1 || max_seq_length > INT32_MAX)
    throw ArgumentError("max_seq_length", max_seq_length, ", expected 1 to ", INT32_MAX);
  if (bsz == 0 || width == 0) return;
  const auto reachable = static_cast<unsigned>(rows < INT32_MAX ? rows : INT32_MAX);  // by places of int32
  const Offsets offsets{output_padding_offset.data, reachable, accept_token_num.data,
                        static_cast<unsigned>(max_seq_length)};
  const BlockRows<Element> moved(output_hidden_states, out);
  const WholeRows<kBlockThreads> whole(moved);
  const auto slots = static_cast<unsigned>(bsz);
  if (whole.possible() && reachable <= kAhead * kBlockThreads)
    fetch_whole_rows<<<dim3(slots, whole.shares()), kBlockThreads, 0, stream>>>(offsets, whole);
  else
    fetch_rows<<<dim3(slots, moved.grid_chunks()), kBlockThreads, 0, stream>>>(offsets, moved);
  check_launch("hydra_fetch_hidden_states");
}

}  // namespace
}  // namespace opgold

// Rows are only moved: types of one size share their code.
OPGOLD_EXPORT(hydra_fetch_hidden_states, opgold::fetch_hidden_states<uint32_t, float>,
              opgold::fetch_hidden_states<uint16_t, opgold::Half>,
              opgold::fetch_hidden_states<uint16_t, opgold::BFloat16>)
