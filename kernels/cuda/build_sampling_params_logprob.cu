// build_sampling_params_logprob: a sampling parameter of every packed output row.
//
// A thread does a row. Its block goes through the slots a chunk at a time, and sums their counts itself.
#include "bindings/export.h"
#include "packing.cuh"

namespace opgold {
namespace {

template <class Setting>
__global__ void __launch_bounds__(kThreads)
    repeat_params(const Setting* input_params, const int32_t* token_num_per_batch, int64_t bsz, Setting filler,
                  Setting* out, int64_t rows) {
  __shared__ LengthScan::TempStorage storage;
  __shared__ int32_t starts[kChunk + 1];
  const int64_t row = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  Setting value = filler;
  uint32_t done = 0;  // rows of the slots before this chunk
  for (int64_t chunk = 0; chunk < bsz; chunk += kChunk) {
    const int32_t slots = bsz - chunk < kChunk ? int32_t(bsz - chunk) : kChunk;
    scan_lengths([=](int64_t b) { return static_cast<uint32_t>(token_num_per_batch[chunk + b]); }, slots, starts,
                 storage);
    const int64_t local = row - done;
    const int32_t slot = slot_of([&](int32_t b) { return starts[b]; }, slots, local);
    if (local >= starts[slot] && local < starts[slot + 1]) value = input_params[chunk + slot];
    done += static_cast<uint32_t>(starts[slots]);
    __syncthreads();  // `starts` is written again
  }
  if (row < rows) out[row] = value;
}

template <class Setting>
void build_sampling_params_logprob(Stream stream, Tensor<const Setting, 1> input_params,
                                   Tensor<const int32_t, 1> token_num_per_batch, Tensor<Setting, 1> out,
                                   int64_t token_num_output_cpu) {
  const int64_t bsz = token_num_per_batch.shape[0], rows = token_num_output_cpu;
  if (input_params.shape[0] < bsz)
    throw ArgumentError("input_params", "has ", input_params.shape[0], " entries, expected at least ", bsz);
  out.require(0, rows, "token_num_output_cpu");
  if (rows == 0) return;
  const Setting filler = Setting(std::is_same_v<Setting, bool> ? 0 : 1);
  repeat_params<<<blocks_for(rows), kThreads, 0, stream>>>(input_params.data, token_num_per_batch.data, bsz, filler,
                                                           out.data, rows);
  check_launch("build_sampling_params_logprob");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(build_sampling_params_logprob, opgold::build_sampling_params_logprob<float>,
              opgold::build_sampling_params_logprob<int32_t>, opgold::build_sampling_params_logprob<bool>)
