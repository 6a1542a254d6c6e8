// hydra_fetch_hidden_states: the launcher.
#include <algorithm>

#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void hydra_fetch_hidden_states(const char* output_hidden_states, Int64 tokens, Int64 row_bytes,
                                                       const int* output_padding_offset, int offsets,
                                                       const int* accept_token_num, int max_seq_length, char* out,
                                                       Int64 bsz);

}  // namespace xpu

namespace {

template <class T>
void fetch_hidden_states(Stream stream, Tensor<const T, 2> output_hidden_states,
                         Tensor<const int32_t, 1> output_padding_offset, Tensor<const int32_t, 1> accept_token_num,
                         Tensor<T, 2> out, int64_t bsz, int64_t max_seq_length) {
  const int64_t rows = output_hidden_states.shape[0], width = output_hidden_states.shape[1];
  output_padding_offset.require(0, rows, "rows of output_hidden_states");
  require_rows(accept_token_num, bsz, "bsz");
  out.require(0, bsz, "bsz");
  out.require(1, width, "columns of output_hidden_states");
  if (max_seq_length < 1 || max_seq_length > INT32_MAX)
    throw ArgumentError("max_seq_length", max_seq_length, ", expected 1 to ", INT32_MAX);
  if (bsz == 0 || width == 0) return;
  const int reachable = static_cast<int>(std::min<int64_t>(rows, INT32_MAX));  // by places of 32 bits
  check_launch("hydra_fetch_hidden_states",
               xpu::hydra_fetch_hidden_states<<<clusters(), cores(), stream>>>(
                   raw_bytes(output_hidden_states), rows, width * int64_t(sizeof(T)), output_padding_offset.data,
                   reachable, accept_token_num.data, static_cast<int>(max_seq_length), raw_bytes(out), bsz));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(hydra_fetch_hidden_states, opgold::fetch_hidden_states<float>, opgold::fetch_hidden_states<opgold::Half>,
              opgold::fetch_hidden_states<opgold::BFloat16>)
