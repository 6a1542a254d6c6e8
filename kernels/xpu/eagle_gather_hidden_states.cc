// eagle_gather_hidden_states: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void eagle_gather_hidden_states(const char* input, Int64 tokens, Int64 row_bytes,
                                                        const int* seq_lens_this_time, int bsz, char* out,
                                                        int* output_token_num);

}  // namespace xpu

namespace {

template <class T>
void gather_hidden_states(Stream stream, Tensor<const T, 2> input, Tensor<const int32_t, 1> cu_seqlens_q,
                          Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> seq_lens_decoder,
                          Tensor<const int32_t, 1> seq_lens_encoder,
                          Tensor<const int32_t, 1> /*batch_id_per_token_output*/,
                          Tensor<const int32_t, 1> cu_seqlens_q_output,
                          Tensor<const int32_t, 1> real_output_token_num, Tensor<T, 2> out,
                          Tensor<int32_t, 1> output_token_num) {
  const int bsz = count_of(seq_lens_this_time, 0);
  const int64_t width = input.shape[1];
  require_each(int64_t{bsz} + 1, "slots of seq_lens_this_time, and 1", cu_seqlens_q, cu_seqlens_q_output);
  require_each(bsz, "slots of seq_lens_this_time", seq_lens_decoder, seq_lens_encoder, out);
  real_output_token_num.require(0, 1, "a count");
  out.require(1, width, "columns of input");
  output_token_num.require(0, 1, "a count");
  check_launch("eagle_gather_hidden_states",
               xpu::eagle_gather_hidden_states<<<clusters(), cores(), stream>>>(
                   raw_bytes(input), input.shape[0], width * int64_t(sizeof(T)), seq_lens_this_time.data, bsz,
                   raw_bytes(out), output_token_num.data));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(eagle_gather_hidden_states, opgold::gather_hidden_states<float>,
              opgold::gather_hidden_states<opgold::Half>, opgold::gather_hidden_states<opgold::BFloat16>)
