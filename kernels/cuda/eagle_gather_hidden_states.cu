// eagle_gather_hidden_states: the last hidden row of every slot that ran tokens, packed densely, then zeros.
#include "bindings/export.h"
#include "last_rows.cuh"

namespace opgold {
namespace {

struct Running {
  struct Lengths {
    int32_t tokens;
    __device__ uint32_t rows() const { return static_cast<uint32_t>(tokens); }
    __device__ bool live() const { return tokens != 0; }
  };
  const int32_t* seq_lens_this_time;

  __device__ Lengths load(int64_t slot) const { return {seq_lens_this_time[slot]}; }
};

template <class Element, class T>
void gather_hidden_states(Stream stream, Tensor<const T, 2> input, Tensor<const int32_t, 1> cu_seqlens_q,
                          Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> seq_lens_decoder,
                          Tensor<const int32_t, 1> seq_lens_encoder, Tensor<const int32_t, 1> batch_id_per_token_output,
                          Tensor<const int32_t, 1> cu_seqlens_q_output,
                          Tensor<const int32_t, 1> real_output_token_num, Tensor<T, 2> out,
                          Tensor<int32_t, 1> output_token_num) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  cu_seqlens_q.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  seq_lens_decoder.require(0, bsz, "slots of seq_lens_this_time");
  seq_lens_encoder.require(0, bsz, "slots of seq_lens_this_time");
  (void)batch_id_per_token_output;
  cu_seqlens_q_output.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  real_output_token_num.require(0, 1, "a count");
  out.require(0, bsz, "slots of seq_lens_this_time");
  launch_pick<true, Element>(stream, "eagle_gather_hidden_states", Running{seq_lens_this_time.data}, bsz, input, out,
                             output_token_num);
}

}  // namespace
}  // namespace opgold

// Rows are only moved: types of one size share their code.
OPGOLD_EXPORT(eagle_gather_hidden_states, opgold::gather_hidden_states<uint32_t, float>,
              opgold::gather_hidden_states<uint16_t, opgold::Half>,
              opgold::gather_hidden_states<uint16_t, opgold::BFloat16>)
