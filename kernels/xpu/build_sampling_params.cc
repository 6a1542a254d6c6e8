// build_sampling_params: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void build_sampling_params(const float* top_p, const Int64* top_k, const Int64* infer_seed,
                                                   const int* cu_seqlens_q_output, int bsz, Int64 modulus,
                                                   float* top_p_padding, Int64* top_k_padding, Int64* topp_seed,
                                                   int rows);
__attribute__((global)) void advance_seeds(Int64* infer_seed, int bsz, Int64 increment, Int64 modulus);

}  // namespace xpu

namespace {

void build_sampling_params(Stream stream, Tensor<const float, 1> top_p, Tensor<const int64_t, 1> top_k,
                           Tensor<int64_t, 1> infer_seed, Tensor<const int32_t, 1> seq_lens_this_time,
                           Tensor<const int32_t, 1> cu_seqlens_q_output, Tensor<float, 2> top_p_padding,
                           Tensor<int64_t, 2> top_k_padding, Tensor<int64_t, 2> topp_seed,
                           int64_t token_num_output_cpu, int64_t increment_value, int64_t max_infer_seed) {
  const int bsz = count_of(seq_lens_this_time, 0), rows = count_of(top_p_padding, 0);
  require_rows(top_p, bsz, "slots of seq_lens_this_time");
  require_each(top_p.shape[0], "slots of top_p", top_k, infer_seed);
  cu_seqlens_q_output.require(0, int64_t{bsz} + 1, "slots of seq_lens_this_time, and 1");
  require_each(token_num_output_cpu, "token_num_output_cpu", top_p_padding, top_k_padding, topp_seed);
  top_p_padding.require(1, 1, "a column");
  top_k_padding.require(1, 1, "a column");
  topp_seed.require(1, 1, "a column");
  if (max_infer_seed < 1) throw ArgumentError("max_infer_seed", max_infer_seed, ", expected at least 1");
  if (increment_value < 0) throw ArgumentError("increment_value", increment_value, ", expected at least 0");
  if (rows > 0)
    check_launch("build_sampling_params",
                 xpu::build_sampling_params<<<clusters(), cores(), stream>>>(
                     top_p.data, device_data(top_k), device_data(infer_seed), cu_seqlens_q_output.data, bsz,
                     max_infer_seed, top_p_padding.data, device_data(top_k_padding), device_data(topp_seed), rows));
  if (bsz > 0)
    check_launch("build_sampling_params", xpu::advance_seeds<<<clusters(), cores(), stream>>>(
                                              device_data(infer_seed), bsz, increment_value, max_infer_seed));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(build_sampling_params, opgold::build_sampling_params)
