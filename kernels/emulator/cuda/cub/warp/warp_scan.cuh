// Stands in for CUB's WarpScan; reuse of storage needs a __syncwarp.
#pragma once

#include "emulator/cuda/cub/functors.h"

namespace cub {

template <class T, int Lanes = 32>
class WarpScan {
  static_assert(Lanes > 0 && Lanes <= 32 && (Lanes & (Lanes - 1)) == 0, "a logical warp is a power of two of lanes");
  using Plus = opgold::emulator::Plus;

 public:
  struct TempStorage {
    T items[Lanes];
  };

  explicit WarpScan(TempStorage& storage) : storage_(storage) {}

  template <class Operator>
  OPGOLD_INLINE void InclusiveScan(T input, T& output, Operator combine, T& aggregate, OPGOLD_PLACE) {
    const int lane = scan(input, combine, file, line);
    const T result = lane > 0 ? combine(storage_.items[lane - 1], input) : input;
    aggregate = storage_.items[Lanes - 1];
    output = result;
  }
  template <class Operator>
  OPGOLD_INLINE void InclusiveScan(T input, T& output, Operator combine, OPGOLD_PLACE) {
    T aggregate;
    InclusiveScan(input, output, combine, aggregate, file, line);
  }
  template <class Operator>
  OPGOLD_INLINE void ExclusiveScan(T input, T& output, T initial, Operator combine, T& aggregate, OPGOLD_PLACE) {
    const int lane = scan(input, combine, file, line);
    const T prefix = lane > 0 ? combine(initial, storage_.items[lane - 1]) : initial;
    aggregate = storage_.items[Lanes - 1];
    output = prefix;
  }
  template <class Operator>
  OPGOLD_INLINE void ExclusiveScan(T input, T& output, T initial, Operator combine, OPGOLD_PLACE) {
    T aggregate;
    ExclusiveScan(input, output, initial, combine, aggregate, file, line);
  }
  OPGOLD_INLINE void InclusiveSum(T input, T& output, OPGOLD_PLACE) {
    InclusiveScan(input, output, Plus{}, file, line);
  }
  OPGOLD_INLINE void InclusiveSum(T input, T& output, T& aggregate, OPGOLD_PLACE) {
    InclusiveScan(input, output, Plus{}, aggregate, file, line);
  }
  OPGOLD_INLINE void ExclusiveSum(T input, T& output, OPGOLD_PLACE) {
    ExclusiveScan(input, output, T{}, Plus{}, file, line);
  }
  OPGOLD_INLINE void ExclusiveSum(T input, T& output, T& aggregate, OPGOLD_PLACE) {
    ExclusiveScan(input, output, T{}, Plus{}, aggregate, file, line);
  }
  OPGOLD_INLINE T Broadcast(T input, unsigned source, OPGOLD_PLACE) {
    return __shfl_sync(mask(), input, int(source), Lanes, file, line);
  }

 private:
  OPGOLD_INLINE static unsigned mask() {
    return (Lanes == 32 ? ~0u : (1u << (Lanes % 32)) - 1) << (opgold::emulator::lane_index() & unsigned(-Lanes));
  }

  template <class Operator>
  OPGOLD_INLINE int scan(T input, Operator combine, const char* file, int line) {
    const int lane = int(opgold::emulator::lane_index() % unsigned(Lanes));
    storage_.items[lane] = input;
    __syncwarp(mask(), file, line);
    if (lane == 0) {
      T total = storage_.items[0];
      for (int i = 1; i < Lanes; ++i) storage_.items[i] = total = combine(total, storage_.items[i]);
    }
    __syncwarp(mask(), file, line);
    return lane;
  }

  TempStorage& storage_;
};

}  // namespace cub
