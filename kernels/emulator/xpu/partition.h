// Splits work over cores as the vendor's helper does.
#pragma once

#include "emulator/xpu/arithmetic.h"

// [*start, *end) of `len` items for one of `nthreads`, in blocks of `align`: the first ones get one block more. Those that
// are left without work get an empty range.
template <class T>
inline void partition(int tid, int nthreads, T len, int align, T* start, T* end) {
  const T blocks = roundup_div<T>(len, align), each = blocks / nthreads, more = blocks % nthreads;
  const T first = tid < more ? (each + 1) * tid : each * tid + more;
  *start = min<T>(first * align, len);
  *end = min<T>(*start + (each + (tid < more ? 1 : 0)) * align, len);
}
