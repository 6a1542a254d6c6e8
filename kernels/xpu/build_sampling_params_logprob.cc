// build_sampling_params_logprob: the launcher.
#include "bindings/export.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

template <class T>
__attribute__((global)) void build_sampling_params_logprob(const T* input_params, const int* token_num_per_batch,
                                                           int bsz, T filler, T* out, int rows);

}  // namespace xpu

namespace {

template <class Setting>
void build_sampling_params_logprob(Stream stream, Tensor<const Setting, 1> input_params,
                                   Tensor<const int32_t, 1> token_num_per_batch, Tensor<Setting, 1> out,
                                   int64_t token_num_output_cpu) {
  const int bsz = count_of(token_num_per_batch, 0), rows = count_of(out, 0);
  require_rows(input_params, bsz, "slots of token_num_per_batch");
  out.require(0, token_num_output_cpu, "token_num_output_cpu");
  if (rows == 0) return;
  const Setting filler = Setting(std::is_same_v<Setting, bool> ? 0 : 1);
  check_launch("build_sampling_params_logprob",
               xpu::build_sampling_params_logprob<Setting><<<clusters(), cores(), stream>>>(
                   input_params.data, token_num_per_batch.data, bsz, filler, out.data, rows));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(build_sampling_params_logprob, opgold::build_sampling_params_logprob<float>,
              opgold::build_sampling_params_logprob<int32_t>, opgold::build_sampling_params_logprob<bool>)
