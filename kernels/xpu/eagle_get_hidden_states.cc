// eagle_get_hidden_states: the launcher.
#include <algorithm>

#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void eagle_get_hidden_states(const char* input, Int64 tokens, Int64 row_bytes,
                                                     const int* seq_lens_this_time, const int* seq_lens_encoder,
                                                     const int* accept_num, const int* base_model_seq_lens_this_time,
                                                     int bsz, char* out, Int64 rows, int* output_token_num);

}  // namespace xpu

namespace {

template <class T>
void get_hidden_states(Stream stream, Tensor<const T, 2> input, Tensor<const int32_t, 1> seq_lens_this_time,
                       Tensor<const int32_t, 1> seq_lens_encoder, Tensor<const int32_t, 1> seq_lens_decoder,
                       Tensor<const bool, 1> stop_flags, Tensor<const int32_t, 1> accept_num,
                       Tensor<const int32_t, 1> base_model_seq_lens_this_time,
                       Tensor<const int32_t, 1> base_model_seq_lens_encoder, Tensor<T, 2> out,
                       Tensor<int32_t, 1> output_token_num, int64_t /*actual_draft_token_num*/) {
  const int bsz = count_of(seq_lens_this_time, 0);
  const int64_t tokens = input.shape[0], width = input.shape[1];
  require_each(bsz, "slots of seq_lens_this_time", seq_lens_encoder, seq_lens_decoder, stop_flags, accept_num,
               base_model_seq_lens_this_time, base_model_seq_lens_encoder);
  out.require(1, width, "columns of input");
  output_token_num.require(0, 1, "a count");
  const int64_t rows = width == 0 ? 0 : std::min(tokens, out.shape[0]);  // more cannot be written
  check_launch("eagle_get_hidden_states",
               xpu::eagle_get_hidden_states<<<clusters(), cores(), stream>>>(
                   raw_bytes(input), tokens, width * int64_t(sizeof(T)), seq_lens_this_time.data,
                   seq_lens_encoder.data, accept_num.data, base_model_seq_lens_this_time.data, bsz, raw_bytes(out),
                   rows, output_token_num.data));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(eagle_get_hidden_states, opgold::get_hidden_states<float>, opgold::get_hidden_states<opgold::Half>,
              opgold::get_hidden_states<opgold::BFloat16>)
