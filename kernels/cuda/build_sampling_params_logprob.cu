// build_sampling_params_logprob: a sampling parameter of every packed output row.
//
// A thread does a row. Its block goes through the slots a chunk at a time, and sums their counts itself.
#include "bindings/export.h"
#include "packing.cuh"

namespace opgold {
namespace {

// A chunk is kEach slots a thread. Its parameters are loaded beside its counts, so that no row waits for its own.
template <int kEach, class Setting>
__global__ void __launch_bounds__(kThreads)
    repeat_params(const Setting* input_params, const int32_t* token_num_per_batch, int64_t bsz, Setting filler,
                  Setting* out, int64_t rows) {
  constexpr int kSlots = kThreads * kEach;
  __shared__ LengthScan::TempStorage storage;
  __shared__ int32_t starts[kSlots + 1];  // behind the last slot: its end
  static_assert(kSlots == 256 || kSlots == 1024, "a power of 4");
  __shared__ Setting settings[kSlots];
  const int64_t row = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  const int own = threadIdx.x * kEach;
  Setting value = filler;
  uint32_t done = 0;  // rows of the slots before this chunk
  for (int64_t chunk = 0; chunk < bsz; chunk += kSlots) {
    const int slots = bsz - chunk < kSlots ? int(bsz - chunk) : kSlots;
    uint32_t ends[kEach];
    Setting loaded[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int64_t slot = chunk + (own + k < slots ? own + k : slots - 1);
      ends[k] = static_cast<uint32_t>(token_num_per_batch[slot]);
      loaded[k] = input_params[slot];
    }
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      if (own + k >= slots) ends[k] = 0;
      settings[own + k] = loaded[k];
    }
    LengthScan(storage).InclusiveSum(ends, ends);
#pragma unroll
    for (int k = 0; k < kEach; ++k) starts[own + k + 1] = static_cast<int32_t>(ends[k]);
    if (threadIdx.x == 0) starts[0] = 0;
    __syncthreads();  // what follows reads other threads' slots
    const int64_t behind = row - done;
    const int32_t local = behind < 0 ? -1 : behind < INT32_MAX ? int32_t(behind) : INT32_MAX;
    int slot = 0;  // the last one that starts at or before the row; a round's three loads do not wait for each other
#pragma unroll
    for (int part = kSlots / 4; part > 0; part /= 4) {
      const int32_t a = starts[slot + part], b = starts[slot + 2 * part], c = starts[slot + 3 * part];
      slot += (a <= local ? part : 0) + (b <= local ? part : 0) + (c <= local ? part : 0);
    }
    const int32_t start = starts[slot], end = starts[slot + 1];
    const Setting setting = settings[slot];
    if (local >= start && local < end) value = setting;
    done += static_cast<uint32_t>(starts[kSlots]);
    if (chunk + kSlots < bsz) __syncthreads();  // all that is shared is written again
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
  const auto kernel = bsz <= kThreads ? repeat_params<1, Setting> : repeat_params<kLengthsPerThread, Setting>;
  kernel<<<blocks_for(rows), kThreads, 0, stream>>>(input_params.data, token_num_per_batch.data, bsz, filler, out.data,
                                                    rows);
  check_launch("build_sampling_params_logprob");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(build_sampling_params_logprob, opgold::build_sampling_params_logprob<float>,
              opgold::build_sampling_params_logprob<int32_t>, opgold::build_sampling_params_logprob<bool>)
