// What the planted XPU launchers share: each op has a bug on the line marked `planted <op>`, taken only when `bug` is set.
#pragma once

#include "bindings/export.h"

using Input = opgold::Tensor<const int32_t, 1>;
using Output = opgold::Tensor<int32_t, 1>;
using Wide = opgold::Tensor<int64_t, 1>;

#define PLANTED(op, ...)                                                                                     \
  __attribute__((global)) void op(const int* x, int* y, long long* z, int n, int bug);                       \
  static void launch_##op(opgold::Stream stream, Input x, Output y, Wide z, int32_t bug) {                   \
    using namespace opgold;                                                                                  \
    check_launch(#op, op<<<__VA_ARGS__, stream>>>(x.data, y.data, device_data(z), int(x.size()), int(bug))); \
  }                                                                                                          \
  OPGOLD_EXPORT(op, launch_##op)
