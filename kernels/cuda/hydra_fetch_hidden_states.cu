// hydra_fetch_hidden_states: the hidden row of each slot's last accepted token, by the legacy output-side offsets.
#include "bindings/export.h"
#include "rows.cuh"

namespace opgold {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kNone = UINT32_MAX;

struct Offsets {
  const int32_t* output_padding_offset;
  unsigned rows;
  int64_t max_seq_length;

  // The row whose place in a batch padded to max_seq_length rows a slot is `place`, or kNone. The whole block looks, so
  // that nothing hangs on the order of the offsets. A row with offset 0 counts only before all rows with other offsets:
  // behind them stand the unused ones.
  __device__ unsigned row_at(int64_t place, unsigned& moved, unsigned& kept) const {
    if (threadIdx.x == 0) moved = kept = kNone;
    __syncthreads();
    bool unused = false;
#pragma unroll 4
    for (unsigned row = threadIdx.x; row < rows; row += kThreads) {
      const int64_t offset = output_padding_offset[row];
      unused |= offset != 0 && row < place;
      if (row + offset == place) {
        if (offset == 0) kept = row;
        else atomicMin(&moved, row);
      }
    }
    unused = __syncthreads_or(unused);
    return moved != kNone || unused ? moved : kept;
  }
};

template <class Element>
__global__ void __launch_bounds__(kThreads)
    fetch_rows(Offsets offsets, const int32_t* accept_token_num, const Element* states, Element* out, int64_t width,
               RowSplit split) {
  __shared__ unsigned moved, kept;
  const int64_t slot = blockIdx.x, accepted = accept_token_num[slot];
  const bool within = accepted > 0 && accepted <= offsets.max_seq_length;
  const int64_t place = within ? slot * offsets.max_seq_length + accepted - 1 : -1;  // no row stands at -1
  const unsigned row = offsets.row_at(place, moved, kept);
  write_chunks(row == kNone ? nullptr : states + row * width, out + slot * width, width, split);
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
  RowSplit split = RowSplit::of_bytes(width * int64_t(sizeof(Element)), kThreads);
  if (split.lanes < kThreads) split = {kThreads, kThreads, 1};
  const auto reachable = static_cast<unsigned>(rows < INT32_MAX ? rows : INT32_MAX);  // by places of int32
  const dim3 grid(static_cast<unsigned>(bsz), split.grid_chunks());
  fetch_rows<<<grid, kThreads, 0, stream>>>(
      Offsets{output_padding_offset.data, reachable, max_seq_length}, accept_token_num.data,
      reinterpret_cast<const Element*>(output_hidden_states.data), reinterpret_cast<Element*>(out.data), width, split);
  check_launch("hydra_fetch_hidden_states");
}

}  // namespace
}  // namespace opgold

// Rows are only moved: types of one size share their code.
OPGOLD_EXPORT(hydra_fetch_hidden_states, opgold::fetch_hidden_states<uint32_t, float>,
              opgold::fetch_hidden_states<uint16_t, opgold::Half>,
              opgold::fetch_hidden_states<uint16_t, opgold::BFloat16>)
