// Rows of slots whose starts are sums: of lengths, or sums that the input holds. All cores of a cluster call these.
#pragma once

#include "xpu/repeated_rows.h"

namespace opgold {
namespace xpu {

// Slots' lengths, as sum_slots takes them.
struct Lengths {
  __global_ptr__ const int* tokens;
  __device__ int operator()(int slot) const { return tokens[slot]; }
};

// One int for each of a core's rows, as a base of what repeat_rows takes.
struct IntRows {
  __global_ptr__ int* out;
  int held[kHeldRows];

  __device__ explicit IntRows(__global_ptr__ int* out) : out(out) {}
  __device__ void fill(int at, int count, int first, int step) {
    for (int i = at; i < at + count; ++i) {
      held[i] = first;
      first = wrapping_sum(first, step);
    }
  }
  __device__ void send(Int64 row, int count) const { LM2GM(held, out + row, count * (int)sizeof(int)); }
};

// Writes all prefix sums of the lengths, and returns the last. One cluster does it.
template <class Length>
static inline __device__ int write_sums(const Length& length, int bsz, __global_ptr__ int* sums,
                                        _shared_ptr_ int* starts, _shared_ptr_ int* partial) {
  int total = 0, first = 0;
  do {
    const int slots = stretch_of(first, bsz);
    total = sum_slots(length, first, slots, total, starts, partial);
    if (core_id() == 0) SM2GM(starts, sums + first, (slots + 1) * (int)sizeof(int));
    first += slots;
  } while (first < bsz);
  return total;
}

// Writes the slots' rows among the first `rows`; returns the sum of the lengths. The first core writes the prefix sums
// to `sums`, unless that is null. A row is its core's, whatever the sums are.
template <class Length, class Held>
static inline __device__ int repeat_slots(const Length& length, int bsz, Held& held, int rows,
                                          __global_ptr__ int* sums, _shared_ptr_ int* starts,
                                          _shared_ptr_ int* partial) {
  int begin, end, total = 0, first = 0;
  partition(core_index(), all_cores(), rows, 1, &begin, &end);
  do {
    const int slots = stretch_of(first, bsz), before = total;
    total = sum_slots(length, first, slots, before, starts, partial);
    if (sums != nullptr && core_index() == 0) SM2GM(starts, sums + first, (slots + 1) * (int)sizeof(int));
    repeat_rows(held, starts, first, slots, max(begin, before), min(end, total));
    first += slots;
  } while (first < bsz);
  return total;
}

// The same where the input holds the prefix sums.
template <class Held>
static inline __device__ int repeat_summed_slots(__global_ptr__ const int* sums, int bsz, Held& held, int rows,
                                                 _shared_ptr_ int* starts) {
  int begin, end, total = 0, first = 0;
  partition(core_index(), all_cores(), rows, 1, &begin, &end);
  do {
    const int slots = stretch_of(first, bsz);
    if (core_id() == 0) GM2SM(sums + first, starts, (slots + 1) * (int)sizeof(int));
    sync_cluster();
    total = starts[slots];
    repeat_rows(held, starts, first, slots, max(begin, starts[0]), min(end, total));
    mfence_sm();  // the starts have been read
    sync_cluster();
    first += slots;
  } while (first < bsz);
  return total;
}

// Writes the rows behind those of all slots, whose sum is `total`.
template <class Held>
static inline __device__ void repeat_rest(Held& held, int total, int rows) {
  int begin, end;
  partition(core_index(), all_cores(), rows, 1, &begin, &end);
  repeat_rows(held, nullptr, 0, 0, max(begin, total), end);
}

}  // namespace xpu
}  // namespace opgold
