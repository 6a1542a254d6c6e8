// How many rows slots give to sampling.
#pragma once

#include "xpu/device.h"

namespace opgold {
namespace xpu {

// One for a prompt chunk that runs tokens, else one a token.
static inline __device__ int output_rows(int tokens, int encoder) { return tokens != 0 && encoder != 0 ? 1 : tokens; }

}  // namespace xpu
}  // namespace opgold
