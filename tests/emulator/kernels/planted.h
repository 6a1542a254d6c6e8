// What the planted kernels share: each op has a bug on the line marked `planted <op>`, taken only when `bug` is set.
#pragma once

#include "bindings/export.h"

using Input = opgold::Tensor<const int32_t, 1>;
using Output = opgold::Tensor<int32_t, 1>;

#define PLANTED(op, ...)                                                              \
  void launch_##op(opgold::Stream stream, Input x, Output y, int32_t bug) {           \
    op<<<__VA_ARGS__, stream>>>(x.data, y.data, int(x.size()), bug);                  \
    opgold::check_launch(#op);                                                        \
  }                                                                                   \
  OPGOLD_EXPORT(op, launch_##op)
