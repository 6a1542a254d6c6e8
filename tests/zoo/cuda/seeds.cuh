// The launcher of build_sampling_params; the exhibit defines `seed_of`, a row's seed, and `rows_of`, a slot's last row.
#pragma once

#include "bindings/export.h"

namespace opgold {
namespace {

struct Sampling {
  const float* top_p;
  const int64_t* top_k;
  int64_t* seeds;
  const int32_t* starts;
  int64_t bsz;
  float* row_top_p;
  int64_t* row_top_k;
  int64_t* row_seeds;
  int64_t rows, increment, modulus;
};

// `steps` from a slot's seed on.
__device__ int64_t advanced(const Sampling& op, int64_t slot, int64_t steps);
// Behind a slot's last row.
__device__ int64_t end_of(const Sampling& op, int64_t slot);

// All in one thread: rows may overlap in inputs that break the contract.
__global__ void build(Sampling op) {
  for (int64_t row = 0; row < op.rows; ++row) {
    op.row_top_p[row] = 1;
    op.row_top_k[row] = 1;
    op.row_seeds[row] = 0;
  }
  for (int64_t slot = 0; slot < op.bsz; ++slot) {
    const int64_t first = op.starts[slot], end = end_of(op, slot);
    for (int64_t row = first < 0 ? 0 : first; row < end; ++row) {
      op.row_top_p[row] = op.top_p[slot];
      op.row_top_k[row] = op.top_k[slot];
      op.row_seeds[row] = advanced(op, slot, int64_t(4) * (row - first));
    }
    op.seeds[slot] = advanced(op, slot, op.increment);
  }
}

void build_sampling_params(Stream stream, Tensor<const float, 1> top_p, Tensor<const int64_t, 1> top_k,
                           Tensor<int64_t, 1> seeds, Tensor<const int32_t, 1> this_time,
                           Tensor<const int32_t, 1> starts, Tensor<float, 2> row_top_p, Tensor<int64_t, 2> row_top_k,
                           Tensor<int64_t, 2> row_seeds, int64_t rows, int64_t increment, int64_t modulus) {
  if (this_time.shape[0] > seeds.shape[0]) throw ArgumentError("seq_lens_this_time", "has more slots than there are");
  const Sampling op{top_p.data,     top_k.data,     seeds.data, starts.data, this_time.shape[0], row_top_p.data,
                    row_top_k.data, row_seeds.data, rows,       increment,   modulus};
  build<<<1, 1, 0, stream>>>(op);
  check_launch("build_sampling_params");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(build_sampling_params, opgold::build_sampling_params)
