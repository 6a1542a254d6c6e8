// eagle_get_self_hidden_states: the launcher.
#include <algorithm>

#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void eagle_get_self_hidden_states(const char* input, Int64 tokens, Int64 row_bytes,
                                                          const int* last_seq_lens_this_time,
                                                          const int* seq_lens_this_time, const Int64* step_idx,
                                                          int bsz, char* out, Int64 rows, int* output_token_num);

}  // namespace xpu

namespace {

template <class T>
void get_self_hidden_states(Stream stream, Tensor<const T, 2> input, Tensor<const int32_t, 1> last_seq_lens_this_time,
                            Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const int64_t, 1> step_idx,
                            Tensor<T, 2> out, Tensor<int32_t, 1> output_token_num) {
  const int bsz = count_of(seq_lens_this_time, 0);
  const int64_t width = input.shape[1];
  require_each(bsz, "slots of seq_lens_this_time", last_seq_lens_this_time, step_idx);
  out.require(1, width, "columns of input");
  output_token_num.require(0, 1, "a count");
  const int64_t rows = width == 0 ? 0 : std::min<int64_t>(bsz, out.shape[0]);  // a slot writes one at most
  check_launch("eagle_get_self_hidden_states",
               xpu::eagle_get_self_hidden_states<<<clusters(), cores(), stream>>>(
                   raw_bytes(input), input.shape[0], width * int64_t(sizeof(T)), last_seq_lens_this_time.data,
                   seq_lens_this_time.data, device_data(step_idx), bsz, raw_bytes(out), rows, output_token_num.data));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(eagle_get_self_hidden_states, opgold::get_self_hidden_states<float>,
              opgold::get_self_hidden_states<opgold::Half>, opgold::get_self_hidden_states<opgold::BFloat16>)
