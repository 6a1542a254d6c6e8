// Packing one row of a slot at most: the last of those that it has in packed rows.
#pragma once

#include "block_rows.cuh"

namespace opgold {

constexpr int64_t kPickBlocks = 528;  // four on each processor of an H200: each of them adds up lengths itself
constexpr int kWholeThreads = 128;    // of a block that picks a whole row for one of at most kWholeSlots slots
constexpr int kWholeSlots = 4 * kWholeThreads;

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

// Adds to the calling thread's `own` its lengths among those of slots first to first + last, at most kAhead a thread,
// and tells all threads, after a barrier, whether first + last is `live`.
template <int kThreads, int kAhead, class Slots>
__device__ void add_lengths(const Slots& slots, int64_t first, unsigned last, Passed& own, bool& live) {
  typename Slots::Lengths loaded[kAhead];  // all at once, before the first is looked at
#pragma unroll
  for (int k = 0; k < kAhead; ++k) {
    const unsigned mine = k * kThreads + threadIdx.x;
    loaded[k] = mine <= last ? slots.load(first + mine) : typename Slots::Lengths{};
  }
#pragma unroll
  for (int k = 0; k < kAhead; ++k) {
    own = {own.rows + loaded[k].rows(), own.live + loaded[k].live()};
    if (k * kThreads + threadIdx.x == last) live = loaded[k].live();
  }
}

// The sum over the block's threads, of which the whole block takes part.
template <int kWarps>
__device__ Passed sum_of_block(Passed own, Passed (&warps)[kWarps]) {
  own = {__reduce_add_sync(~0u, own.rows), __reduce_add_sync(~0u, own.live)};
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = own;
  __syncthreads();
  Passed sum{0, 0};
#pragma unroll
  for (int k = 0; k < kWarps; ++k) sum = {sum.rows + warps[k].rows, sum.live + warps[k].live};
  return sum;
}

// A block takes slot after slot, and needs only sums of the lengths up to it: a live slot writes the row of its rank.
// With `kZeroRest`, where there are as many rows as slots, idle slots zero the rows from the last one down.
template <int kAhead, bool kZeroRest, class Element, class Slots>
__global__ void __launch_bounds__(kBlockThreads) pick_rows(Picking<Element, Slots> pick) {
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
      add_lengths<kBlockThreads, kAhead>(pick.slots, summed, last, own, live);
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

// The same for few slots and whole rows, a slot a block: nothing stands before a row's load but what says which it is.
template <int kAhead, bool kZeroRest, class Slots>
__global__ void __launch_bounds__(kWholeThreads)
    pick_whole_rows(Slots slots, unsigned bsz, WholeRows<kWholeThreads> rows, int32_t* count) {
  __shared__ Passed warps[kWholeThreads / 32];
  __shared__ bool live;
  const unsigned slot = blockIdx.x;
  Passed own{0, 0};
  add_lengths<kWholeThreads, kAhead>(slots, 0, slot, own, live);
  const Passed passed = sum_of_block(own, warps);
  const unsigned source = passed.rows - 1;  // of no rows: none of the input
  const unsigned row = live ? passed.live - 1 : bsz - 1 - (slot - passed.live);
  if (live && source < rows.input_rows && row < rows.rows) rows.copy(row, source);
  else if (kZeroRest) rows.zero(row);
  if (slot == bsz - 1 && blockIdx.y == 0 && threadIdx.x == 0) *count = static_cast<int32_t>(passed.live);
}

template <bool kZeroRest, class Element, class Slots, class T>
void launch_pick(Stream stream, const char* op, const Slots& slots, int64_t bsz, const Tensor<const T, 2>& input,
                 const Tensor<T, 2>& out, const Tensor<int32_t, 1>& count) {
  out.require(1, input.shape[1], "columns of input");
  count.require(0, 1, "a count");
  const Picking<Element, Slots> pick{slots, bsz, BlockRows<Element>(input, out), count.data};
  const WholeRows<kWholeThreads> whole(pick.rows);
  if (whole.possible() && bsz > 0 && bsz <= kWholeSlots) {
    const auto all = static_cast<unsigned>(bsz);
    const dim3 grid(all, whole.shares());
    if (bsz <= kWholeSlots / 2)
      pick_whole_rows<2, kZeroRest><<<grid, kWholeThreads, 0, stream>>>(slots, all, whole, count.data);
    else
      pick_whole_rows<4, kZeroRest><<<grid, kWholeThreads, 0, stream>>>(slots, all, whole, count.data);
  } else {
    const int64_t blocks = bsz < 1 ? 1 : bsz < kPickBlocks ? bsz : kPickBlocks;
    const dim3 grid(static_cast<unsigned>(blocks), pick.rows.grid_chunks());
    if (bsz <= kBlockThreads)
      pick_rows<1, kZeroRest><<<grid, kBlockThreads, 0, stream>>>(pick);
    else
      pick_rows<4, kZeroRest><<<grid, kBlockThreads, 0, stream>>>(pick);
  }
  check_launch(op);
}

}  // namespace opgold
