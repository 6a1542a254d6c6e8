// build_sampling_params: sampling parameters of every packed output row, and each slot's next seed.
//
// Eight lanes do a slot. That no two slots share a row hangs on sums that never fall, so every block looks at all of
// them.
#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kLanes = 16;  // of a slot
constexpr int kThreads = 256;
constexpr int kSlotsPerBlock = kThreads / kLanes;
constexpr int kTailPerBlock = 4 * kThreads;
constexpr uint64_t kSeedStep = 4;  // from a row to the next

struct Parameters {
  const float* top_p;
  const int64_t* top_k;
  int64_t* infer_seed;
  const int32_t* cu_seqlens_q_output;
  int64_t bsz;
  int64_t rows;
  uint64_t increment;
  uint64_t modulus;
  float* top_p_padding;
  int64_t* top_k_padding;
  int64_t* topp_seed;

  // Both below 2^63, so that the sum is exact. The division is rare: rows and increments are small beside the modulus.
  __device__ int64_t advanced(int64_t seed, uint64_t by) const {
    const uint64_t sum = uint64_t(seed) + by;
    if (sum < modulus) return int64_t(sum);
    const uint64_t once = sum - modulus;
    return int64_t(once < modulus ? once : once % modulus);
  }

  __device__ void put(int64_t row, float p, int64_t k, int64_t seed) const {
    top_p_padding[row] = p;
    top_k_padding[row] = k;
    topp_seed[row] = seed;
  }

  // Rows behind the last slot's, by all blocks.
  __device__ void put_tail(int32_t filled) const {
    const int64_t stride = int64_t(gridDim.x) * kThreads;
    for (int64_t row = (filled < 0 ? 0 : filled) + blockIdx.x * int64_t(kThreads) + threadIdx.x; row < rows;
         row += stride)
      put(row, 1, 1, 0);
  }
};

__global__ void __launch_bounds__(kThreads) build_rows(Parameters op) {
  if (op.bsz == 0) return op.put_tail(op.cu_seqlens_q_output[0]);
  const int lane = threadIdx.x % kLanes;
  const int64_t slot = blockIdx.x * int64_t(kSlotsPerBlock) + threadIdx.x / kLanes, last = op.bsz - 1;
  const bool live = slot < op.bsz;
  const int64_t own = live ? slot : last, looked = threadIdx.x < last ? threadIdx.x : last;
  // All that is needed, before any of it is looked at. A lane without slot reads no seed: another block writes it.
  const int32_t low = op.cu_seqlens_q_output[looked], high = op.cu_seqlens_q_output[looked + 1];
  const int32_t first = op.cu_seqlens_q_output[own], end = op.cu_seqlens_q_output[own + 1];
  const int64_t seed = *(live ? op.infer_seed + own : op.top_k + own), k = op.top_k[own];
  const float p = op.top_p[own];
  const int32_t filled = op.cu_seqlens_q_output[op.bsz];

  bool falls = low > high;
  for (int64_t b = threadIdx.x + int64_t(kThreads); b < op.bsz; b += kThreads)
    falls |= op.cu_seqlens_q_output[b] > op.cu_seqlens_q_output[b + 1];
  if (__syncthreads_or(falls)) return;  // and every lane has read its slot's seed

  if (live) {
    for (int64_t row = int64_t(first < 0 ? 0 : first) + lane; row < end && row < op.rows; row += kLanes)
      op.put(row, p, k, op.advanced(seed, kSeedStep * uint64_t(row - first)));
    if (lane == 0) op.infer_seed[slot] = op.advanced(seed, op.increment);
  }
  op.put_tail(filled);
}

void build_sampling_params(Stream stream, Tensor<const float, 1> top_p, Tensor<const int64_t, 1> top_k,
                           Tensor<int64_t, 1> infer_seed, Tensor<const int32_t, 1> seq_lens_this_time,
                           Tensor<const int32_t, 1> cu_seqlens_q_output, Tensor<float, 2> top_p_padding,
                           Tensor<int64_t, 2> top_k_padding, Tensor<int64_t, 2> topp_seed,
                           int64_t token_num_output_cpu, int64_t increment_value, int64_t max_infer_seed) {
  const int64_t bsz = seq_lens_this_time.shape[0], slots = top_p.shape[0];
  if (slots < bsz) throw ArgumentError("top_p", "has ", slots, " slots, expected at least ", bsz);
  top_k.require(0, slots, "slots of top_p");
  infer_seed.require(0, slots, "slots of top_p");
  cu_seqlens_q_output.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  top_p_padding.require(0, token_num_output_cpu, "token_num_output_cpu");
  top_k_padding.require(0, token_num_output_cpu, "token_num_output_cpu");
  topp_seed.require(0, token_num_output_cpu, "token_num_output_cpu");
  top_p_padding.require(1, 1, "a column");
  top_k_padding.require(1, 1, "a column");
  topp_seed.require(1, 1, "a column");
  if (max_infer_seed < 1) throw ArgumentError("max_infer_seed", max_infer_seed, ", expected at least 1");
  if (increment_value < 0) throw ArgumentError("increment_value", increment_value, ", expected at least 0");

  const int64_t for_slots = (bsz + kSlotsPerBlock - 1) / kSlotsPerBlock;
  const int64_t for_tail = (token_num_output_cpu + kTailPerBlock - 1) / kTailPerBlock;
  const int64_t blocks = for_slots > for_tail ? for_slots : for_tail;
  if (blocks == 0) return;
  const Parameters op{top_p.data,
                      top_k.data,
                      infer_seed.data,
                      cu_seqlens_q_output.data,
                      bsz,
                      token_num_output_cpu,
                      uint64_t(increment_value),
                      uint64_t(max_infer_seed),
                      top_p_padding.data,
                      top_k_padding.data,
                      topp_seed.data};
  build_rows<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(op);
  check_launch("build_sampling_params");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(build_sampling_params, opgold::build_sampling_params)
