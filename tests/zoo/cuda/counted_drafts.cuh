// The launcher of draft_model_postprocess; the exhibit defines `count`, by which a block counts the drafts of a row.
#pragma once

#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kThreads = 64;

// How many of the row's entries are not -1; thread 0's result counts, and all threads take part.
__device__ int32_t count(const int64_t* row, int64_t width);

__global__ void set_lengths(const int64_t* drafts, int64_t width, int32_t* this_time, const int32_t* encoder,
                            const bool* stopped) {
  const int64_t slot = blockIdx.x;
  const int32_t drafted = count(drafts + slot * width, width);
  if (threadIdx.x != 0) return;
  if (stopped[slot]) this_time[slot] = 0;
  else if (encoder[slot] == 0) this_time[slot] = drafted;
}

void draft_model_postprocess(Stream stream, Tensor<const int64_t, 2> drafts, Tensor<int32_t, 1> this_time,
                             Tensor<const int32_t, 1> encoder, Tensor<const bool, 1> stopped) {
  if (drafts.shape[0] == 0) return;
  set_lengths<<<static_cast<unsigned>(drafts.shape[0]), kThreads, 0, stream>>>(drafts.data, drafts.shape[1],
                                                                               this_time.data, encoder.data,
                                                                               stopped.data);
  check_launch("draft_model_postprocess");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(draft_model_postprocess, opgold::draft_model_postprocess)
