// Stands in for CUB's WarpReduce. Only lane 0 of a logical warp gets the result; reuse of storage needs a __syncwarp.
#pragma once

#include "emulator/cuda/cub/functors.h"

namespace cub {

template <class T, int Lanes = 32>
class WarpReduce {
  static_assert(Lanes > 0 && Lanes <= 32 && (Lanes & (Lanes - 1)) == 0, "a logical warp is a power of two of lanes");

 public:
  struct TempStorage {
    T items[Lanes];
  };

  explicit WarpReduce(TempStorage& storage) : storage_(storage) {}

  template <class Operator>
  OPGOLD_INLINE T Reduce(T input, Operator combine, int valid = Lanes, OPGOLD_PLACE) {
    const unsigned own = opgold::emulator::lane_index(), first = own & unsigned(-Lanes);
    storage_.items[own - first] = input;
    __syncwarp((Lanes == 32 ? ~0u : (1u << (Lanes % 32)) - 1) << first, file, line);
    if (own != first) return input;
    T result = storage_.items[0];
    for (int i = 1; i < valid; ++i) result = combine(result, storage_.items[i]);
    return result;
  }
  OPGOLD_INLINE T Sum(T input, int valid = Lanes, OPGOLD_PLACE) {
    return Reduce(input, opgold::emulator::Plus{}, valid, file, line);
  }

 private:
  TempStorage& storage_;
};

}  // namespace cub
