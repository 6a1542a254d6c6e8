// Packing one row of a slot at most: the last of those that it has in packed rows.
#pragma once

#include "block_rows.cuh"

namespace opgold {

constexpr int64_t kPickBlocks = 528;  // four on each processor of an H200: each of them adds up lengths itself

// What a launch packs. `Slots` has load(slot), the raw `Lengths` of a slot, which say how many rows() the slot has in
// the input, and whether it is live(): whether its last row is kept. Lengths of 0 are those of a slot without either.
template <class Element, class Slots>
struct Picking {
  Slots slots;
  int64_t bsz;
  BlockRows<Element> rows;
  int32_t* count;
};

// Rows that slots have, and live ones of them. Sums wrap rather than overflow: lengths come from data.
struct Passed {
  uint32_t rows;
  uint32_t live;
};

// The sum over the block's threads. The whole block takes part.
__device__ inline Passed sum_of_block(Passed own, Passed (&warps)[kBlockWarps]) {
  own = {__reduce_add_sync(~0u, own.rows), __reduce_add_sync(~0u, own.live)};
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = own;
  __syncthreads();
  Passed sum{0, 0};
#pragma unroll
  for (int k = 0; k < kBlockWarps; ++k) sum = {sum.rows + warps[k].rows, sum.live + warps[k].live};
  return sum;
}

// A block takes slot after slot, and needs only sums of the lengths up to it: a live slot writes the row of its rank.
// With `kZeroRest`, where there are as many rows as slots, idle slots zero the rows from the last one down.
template <int kAhead, bool kZeroRest, class Element, class Slots>
__global__ void __launch_bounds__(kBlockThreads) pick_rows(Picking<Element, Slots> pick) {
  using Lengths = typename Slots::Lengths;
  __shared__ Passed warps[kBlockWarps];
  __shared__ bool live;  // not loaded by all threads: a uniform value would be waited for before the next load
  Passed own{0, 0}, passed{0, 0};
  int64_t summed = 0;  // slots
  for (int64_t slot = blockIdx.x; slot < pick.bsz; slot += gridDim.x) {
    if (summed > 0) __syncthreads();  // what the last slot shared has been read
#pragma unroll 1
    for (; summed <= slot; summed += kAhead * kBlockThreads) {
      const int64_t left = slot - summed;
      const unsigned last = left < kAhead * kBlockThreads ? static_cast<unsigned>(left) : kAhead * kBlockThreads;
      Lengths loaded[kAhead];  // all at once, before the first is looked at
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        const unsigned mine = k * kBlockThreads + threadIdx.x;
        loaded[k] = mine <= last ? pick.slots.load(summed + mine) : Lengths{};
      }
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        own = {own.rows + loaded[k].rows(), own.live + loaded[k].live()};
        if (k * kBlockThreads + threadIdx.x == last) live = loaded[k].live();
      }
    }
    passed = sum_of_block(own, warps);
    summed = slot + 1;

    const int64_t source = int64_t(passed.rows) - 1;
    const bool held = live && source >= 0 && source < pick.rows.input_rows;
    const int64_t row = live ? int64_t(passed.live) - 1 : pick.bsz - 1 - (slot - int64_t(passed.live));
    if (kZeroRest || (held && row < pick.rows.rows)) pick.rows.write(row, source, held);
  }
  if (summed == pick.bsz && blockIdx.y == 0 && threadIdx.x == 0) *pick.count = static_cast<int32_t>(passed.live);
}

template <bool kZeroRest, class Element, class Slots, class T>
void launch_pick(Stream stream, const char* op, const Slots& slots, int64_t bsz, const Tensor<const T, 2>& input,
                 const Tensor<T, 2>& out, const Tensor<int32_t, 1>& count) {
  out.require(1, input.shape[1], "columns of input");
  count.require(0, 1, "a count");
  const Picking<Element, Slots> pick{slots, bsz, BlockRows<Element>(input, out), count.data};
  const int64_t blocks = bsz < 1 ? 1 : bsz < kPickBlocks ? bsz : kPickBlocks;
  const dim3 grid(static_cast<unsigned>(blocks), pick.rows.grid_chunks());
  if (bsz <= kBlockThreads)
    pick_rows<1, kZeroRest><<<grid, kBlockThreads, 0, stream>>>(pick);
  else
    pick_rows<4, kZeroRest><<<grid, kBlockThreads, 0, stream>>>(pick);
  check_launch(op);
}

}  // namespace opgold
