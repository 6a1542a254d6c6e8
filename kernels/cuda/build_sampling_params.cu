// build_sampling_params: sampling parameters of every packed output row, and each slot's next seed.
//
// A warp does a slot. That no two slots share a row hangs on sums that never fall, so every block looks at all of them.
#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kWarp = 32;
constexpr int kThreads = 256;
constexpr int kSlotsPerBlock = kThreads / kWarp;
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

  __device__ bool falls() const {
    bool found = false;
    for (int64_t b = threadIdx.x; b < bsz; b += kThreads) found |= cu_seqlens_q_output[b] > cu_seqlens_q_output[b + 1];
    return found;
  }
};

__global__ void __launch_bounds__(kThreads) build_rows(Parameters op) {
  const int64_t slot = blockIdx.x * int64_t(kSlotsPerBlock) + threadIdx.x / kWarp;
  const bool live = slot < op.bsz;
  const int64_t first = live ? op.cu_seqlens_q_output[slot] : 0;
  const int64_t end = live ? op.cu_seqlens_q_output[slot + 1] : 0;
  const int64_t seed = live ? op.infer_seed[slot] : 0;
  const float p = live ? op.top_p[slot] : 0;
  const int64_t k = live ? op.top_k[slot] : 0;
  const int64_t filled = op.cu_seqlens_q_output[op.bsz];
  if (__syncthreads_or(op.falls())) return;  // and every lane has read its slot's seed

  const int lane = threadIdx.x % kWarp;
  for (int64_t row = (first < 0 ? 0 : first) + lane; row < end && row < op.rows; row += kWarp)
    op.put(row, p, k, op.advanced(seed, kSeedStep * uint64_t(row - first)));
  if (live && lane == 0) op.infer_seed[slot] = op.advanced(seed, op.increment);
  const int64_t stride = int64_t(gridDim.x) * kThreads;
  for (int64_t row = (filled < 0 ? 0 : filled) + blockIdx.x * int64_t(kThreads) + threadIdx.x; row < op.rows;
       row += stride)
    op.put(row, 1, 1, 0);
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
