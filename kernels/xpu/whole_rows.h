// Rows of global memory that one core writes alone.
#pragma once

#include "xpu/copies.h"

namespace opgold {
namespace xpu {

const int kFilled = 64;  // tokens that are sent at a time

static inline __device__ RowShare whole_row() {
  const RowShare share = {0, 1, 0, 1};
  return share;
}

static inline __device__ void copy_tokens(__global_ptr__ const Int64* from, __global_ptr__ Int64* to, Int64 count) {
  copy_row((__global_ptr__ const char*)from, (__global_ptr__ char*)to, count * (Int64)sizeof(Int64), whole_row());
}

static inline __device__ void fill_tokens(Int64 token, __global_ptr__ Int64* to, Int64 count) {
  Int64 tokens[kFilled];
  for (int i = 0; i < kFilled; ++i) tokens[i] = token;
  mfence_lm();
  for (Int64 at = 0; at < count; at += kFilled) {
    const int sent = count - at < kFilled ? (int)(count - at) : kFilled;
    LM2GM_ASYNC(tokens, to + at, sent * (int)sizeof(Int64));
  }
  mfence_lm();
}

}  // namespace xpu
}  // namespace opgold
