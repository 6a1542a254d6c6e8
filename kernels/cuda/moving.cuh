// Moving packed hidden rows from a slot's segment to its place in a denser packing.
#pragma once

#include "rows.cuh"
#include "segments.cuh"

namespace opgold {

// What a launch moves. `Slots` has span(slot): a slot writes the first of the rows it reads.
template <class Element, class Slots>
struct Move {
  Slots slots;
  int64_t bsz;
  const Element* input;
  int64_t input_rows;
  Element* out;
  int64_t rows;  // that can be written
  int64_t width;
  int32_t* count;
};

template <class Element, class Slots>
__global__ void __launch_bounds__(kThreads) move_rows(Move<Element, Slots> move, RowSplit split) {
  __shared__ SpanTable table;
  const int64_t together = kThreads / split.lanes;
  const int64_t stride = gridDim.x * together;
  int64_t row = blockIdx.x * together + threadIdx.x / split.lanes;
  const auto write = [&](int64_t source) {
    if (source >= 0 && source < move.input_rows)
      write_chunks(move.input + source * move.width, move.out + row * move.width, move.width, split);
  };
  const auto span = [&](int64_t slot) { return move.slots.span(slot); };
  const Span all = for_each_chunk(span, move.bsz, table, [&](int64_t, int slots) {
    const int64_t end = table.starts[slots].emitted;
    for (; row < end && row < move.rows; row += stride) {
      const int slot = table.slot_at(static_cast<uint32_t>(row), slots);
      const Span start = table.starts[slot];
      write(int64_t(start.consumed) + (row - start.emitted));
    }
  });
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *move.count = static_cast<int32_t>(all.emitted);
}

// No more rows than the input has can be written: more blocks would have nothing to do.
template <class Element, class Slots, class T>
void launch_move(Stream stream, const char* op, const Slots& slots, int64_t bsz, const Tensor<const T, 2>& input,
                 const Tensor<T, 2>& out, const Tensor<int32_t, 1>& count) {
  const int64_t width = input.shape[1];
  out.require(1, width, "columns of input");
  count.require(0, 1, "a count");
  const int64_t most = input.shape[0];
  const Move<Element, Slots> move{slots, bsz, reinterpret_cast<const Element*>(input.data), most,
                                  reinterpret_cast<Element*>(out.data), out.shape[0] < most ? out.shape[0] : most,
                                  width, count.data};
  const RowSplit split = RowSplit::of_bytes(width * int64_t(sizeof(Element)), kThreads);
  const int64_t groups = up_to_multiple(width == 0 ? 0 : move.rows, split.rows_per_block());
  const dim3 grid(static_cast<unsigned>(summing_blocks(groups)), split.grid_chunks() < 1 ? 1 : split.grid_chunks());
  move_rows<<<grid, kThreads, 0, stream>>>(move, split);
  check_launch(op);
}

}  // namespace opgold
