// eagle_get_hidden_states: from the target's hidden rows those of prompt chunks and of accepted tokens, packed densely.
#include "bindings/export.h"
#include "moving.cuh"

namespace opgold {
namespace {

struct Accepted {
  const int32_t* seq_lens_this_time;
  const int32_t* seq_lens_encoder;
  const int32_t* accept_num;
  const int32_t* base_model_seq_lens_this_time;

  __device__ Span span(int64_t slot) const {
    const uint32_t drafting = seq_lens_this_time[slot], prompt = seq_lens_encoder[slot];
    const uint32_t accepted = accept_num[slot], verified = base_model_seq_lens_this_time[slot];
    if (prompt != 0) return {prompt, prompt};
    return {verified, drafting != 0 ? accepted : 0};
  }
};

template <class Element, class T>
void get_hidden_states(Stream stream, Tensor<const T, 2> input, Tensor<const int32_t, 1> seq_lens_this_time,
                       Tensor<const int32_t, 1> seq_lens_encoder, Tensor<const int32_t, 1> seq_lens_decoder,
                       Tensor<const bool, 1> stop_flags, Tensor<const int32_t, 1> accept_num,
                       Tensor<const int32_t, 1> base_model_seq_lens_this_time,
                       Tensor<const int32_t, 1> base_model_seq_lens_encoder, Tensor<T, 2> out,
                       Tensor<int32_t, 1> output_token_num, int64_t /*actual_draft_token_num*/) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  seq_lens_encoder.require(0, bsz, "slots of seq_lens_this_time");
  seq_lens_decoder.require(0, bsz, "slots of seq_lens_this_time");
  stop_flags.require(0, bsz, "slots of seq_lens_this_time");
  accept_num.require(0, bsz, "slots of seq_lens_this_time");
  base_model_seq_lens_this_time.require(0, bsz, "slots of seq_lens_this_time");
  base_model_seq_lens_encoder.require(0, bsz, "slots of seq_lens_this_time");
  const Accepted slots{seq_lens_this_time.data, seq_lens_encoder.data, accept_num.data,
                       base_model_seq_lens_this_time.data};
  launch_move<Element>(stream, "eagle_get_hidden_states", slots, bsz, input, out, output_token_num);
}

}  // namespace
}  // namespace opgold

// Rows are only moved: types of one size share their code.
OPGOLD_EXPORT(eagle_get_hidden_states, opgold::get_hidden_states<uint32_t, float>,
              opgold::get_hidden_states<uint16_t, opgold::Half>, opgold::get_hidden_states<uint16_t, opgold::BFloat16>)
