// Qualifiers and built-in variables.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulator/core/hooks.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#ifndef __restrict__
#define __restrict__ __restrict
#endif


// For the emulator's own touch of a place that it has checked already.
#ifdef OPGOLD_CHECKED
#define OPGOLD_UNCHECKED __attribute__((noinline, no_sanitize("thread", "undefined")))
#else
#define OPGOLD_UNCHECKED inline __attribute__((always_inline))
#endif
