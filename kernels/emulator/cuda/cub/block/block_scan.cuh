// Stands in for CUB's BlockScan. As there, temporary storage may be used again only after a barrier: every thread's
// last step reads what another thread wrote, and so races with that thread's next write.
#pragma once

#include "emulator/cuda/cub/functors.h"

namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1>
class BlockScan {
  static constexpr int threads = X * Y * Z;
  using Plus = opgold::emulator::Plus;

 public:
  struct TempStorage {
    T items[threads];
  };

  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  // --- one item a thread ---
  template <class Operator>
  OPGOLD_INLINE void ExclusiveScan(T input, T& output, T initial, Operator combine, T& aggregate, OPGOLD_PLACE) {
    const int thread = scan(input, combine, file, line);
    const T prefix = thread > 0 ? combine(initial, storage_.items[thread - 1]) : initial;
    aggregate = storage_.items[threads - 1];
    output = prefix;
  }
  template <class Operator>
  OPGOLD_INLINE void ExclusiveScan(T input, T& output, T initial, Operator combine, OPGOLD_PLACE) {
    T aggregate;
    ExclusiveScan(input, output, initial, combine, aggregate, file, line);
  }
  template <class Operator>
  OPGOLD_INLINE void InclusiveScan(T input, T& output, Operator combine, T& aggregate, OPGOLD_PLACE) {
    const int thread = scan(input, combine, file, line);
    const T result = thread > 0 ? combine(storage_.items[thread - 1], input) : input;
    aggregate = storage_.items[threads - 1];
    output = result;
  }
  template <class Operator>
  OPGOLD_INLINE void InclusiveScan(T input, T& output, Operator combine, OPGOLD_PLACE) {
    T aggregate;
    InclusiveScan(input, output, combine, aggregate, file, line);
  }
  OPGOLD_INLINE void ExclusiveSum(T input, T& output, OPGOLD_PLACE) {
    ExclusiveScan(input, output, T{}, Plus{}, file, line);
  }
  OPGOLD_INLINE void ExclusiveSum(T input, T& output, T& aggregate, OPGOLD_PLACE) {
    ExclusiveScan(input, output, T{}, Plus{}, aggregate, file, line);
  }
  OPGOLD_INLINE void InclusiveSum(T input, T& output, OPGOLD_PLACE) {
    InclusiveScan(input, output, Plus{}, file, line);
  }
  OPGOLD_INLINE void InclusiveSum(T input, T& output, T& aggregate, OPGOLD_PLACE) {
    InclusiveScan(input, output, Plus{}, aggregate, file, line);
  }

  // --- several items a thread, blocked ---
  template <int Items, class Operator>
  OPGOLD_INLINE void ExclusiveScan(T (&input)[Items], T (&output)[Items], T initial, Operator combine, T& aggregate,
                                   OPGOLD_PLACE) {
    T own = input[0], prefix;
    for (int i = 1; i < Items; ++i) own = combine(own, input[i]);
    ExclusiveScan(own, prefix, initial, combine, aggregate, file, line);
    for (int i = 0; i < Items; ++i) {
      const T item = input[i];
      output[i] = prefix;
      prefix = combine(prefix, item);
    }
  }
  template <int Items, class Operator>
  OPGOLD_INLINE void ExclusiveScan(T (&input)[Items], T (&output)[Items], T initial, Operator combine, OPGOLD_PLACE) {
    T aggregate;
    ExclusiveScan(input, output, initial, combine, aggregate, file, line);
  }
  template <int Items, class Operator>
  OPGOLD_INLINE void InclusiveScan(T (&input)[Items], T (&output)[Items], Operator combine, T& aggregate,
                                   OPGOLD_PLACE) {
    T own = input[0], last;
    for (int i = 1; i < Items; ++i) own = combine(own, input[i]);
    const int thread = scan(own, combine, file, line);
    for (int i = 0; i < Items; ++i) {
      const T item = input[i];
      if (i > 0) last = combine(last, item);
      else last = thread > 0 ? combine(storage_.items[thread - 1], item) : item;
      output[i] = last;
    }
    aggregate = storage_.items[threads - 1];
  }
  template <int Items, class Operator>
  OPGOLD_INLINE void InclusiveScan(T (&input)[Items], T (&output)[Items], Operator combine, OPGOLD_PLACE) {
    T aggregate;
    InclusiveScan(input, output, combine, aggregate, file, line);
  }
  template <int Items>
  OPGOLD_INLINE void ExclusiveSum(T (&input)[Items], T (&output)[Items], OPGOLD_PLACE) {
    ExclusiveScan(input, output, T{}, Plus{}, file, line);
  }
  template <int Items>
  OPGOLD_INLINE void ExclusiveSum(T (&input)[Items], T (&output)[Items], T& aggregate, OPGOLD_PLACE) {
    ExclusiveScan(input, output, T{}, Plus{}, aggregate, file, line);
  }
  template <int Items>
  OPGOLD_INLINE void InclusiveSum(T (&input)[Items], T (&output)[Items], OPGOLD_PLACE) {
    InclusiveScan(input, output, Plus{}, file, line);
  }
  template <int Items>
  OPGOLD_INLINE void InclusiveSum(T (&input)[Items], T (&output)[Items], T& aggregate, OPGOLD_PLACE) {
    InclusiveScan(input, output, Plus{}, aggregate, file, line);
  }

 private:
  // Leaves the inclusive scan in storage; returns the thread's linear index.
  template <class Operator>
  OPGOLD_INLINE int scan(T input, Operator combine, const char* file, int line) {
    const int thread = linear_thread();
    storage_.items[thread] = input;
    __syncthreads(file, line);
    if (thread == 0) {
      T total = storage_.items[0];
      for (int i = 1; i < threads; ++i) storage_.items[i] = total = combine(total, storage_.items[i]);
    }
    __syncthreads(file, line);
    return thread;
  }

  TempStorage& storage_;
};

}  // namespace cub
