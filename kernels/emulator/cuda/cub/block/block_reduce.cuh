// Stands in for CUB's BlockReduce. As there, only thread 0 gets the result, and temporary storage may be used again
// only after a barrier: the reads of thread 0 race with the next use's writes otherwise.
#pragma once

#include "emulator/cuda/cub/functors.h"

namespace cub {

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1>
class BlockReduce {
  static constexpr int threads = X * Y * Z;

 public:
  struct TempStorage {
    T items[threads];
  };

  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

  template <class Operator>
  OPGOLD_INLINE T Reduce(T input, Operator combine, int valid = threads, OPGOLD_PLACE) {
    const int thread = linear_thread();
    storage_.items[thread] = input;
    __syncthreads(file, line);
    if (thread != 0) return input;
    T result = storage_.items[0];
    for (int i = 1; i < valid; ++i) result = combine(result, storage_.items[i]);
    return result;
  }
  template <int Items, class Operator>
  OPGOLD_INLINE T Reduce(T (&inputs)[Items], Operator combine, OPGOLD_PLACE) {
    T input = inputs[0];
    for (int i = 1; i < Items; ++i) input = combine(input, inputs[i]);
    return Reduce(input, combine, threads, file, line);
  }
  OPGOLD_INLINE T Sum(T input, int valid = threads, OPGOLD_PLACE) {
    return Reduce(input, opgold::emulator::Plus{}, valid, file, line);
  }
  template <int Items>
  OPGOLD_INLINE T Sum(T (&inputs)[Items], OPGOLD_PLACE) {
    return Reduce(inputs, opgold::emulator::Plus{}, file, line);
  }

 private:
  TempStorage& storage_;
};

}  // namespace cub
