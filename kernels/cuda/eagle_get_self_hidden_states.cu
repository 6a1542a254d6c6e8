// eagle_get_self_hidden_states: the last hidden row of every slot that goes on drafting, packed densely.
#include "bindings/export.h"
#include "last_rows.cuh"

namespace opgold {
namespace {

struct Continuing {
  struct Lengths {
    int32_t before;
    int32_t now;
    int64_t step;
    __device__ uint32_t rows() const {
      return step == 1 ? uint32_t((before | now) != 0) : static_cast<uint32_t>(before);
    }
    __device__ bool live() const { return now != 0; }
  };
  const int32_t* last_seq_lens_this_time;
  const int32_t* seq_lens_this_time;
  const int64_t* step_idx;

  __device__ Lengths load(int64_t slot) const {
    return {last_seq_lens_this_time[slot], seq_lens_this_time[slot], step_idx[slot]};
  }
};

template <class Element, class T>
void get_self_hidden_states(Stream stream, Tensor<const T, 2> input, Tensor<const int32_t, 1> last_seq_lens_this_time,
                            Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const int64_t, 1> step_idx,
                            Tensor<T, 2> out, Tensor<int32_t, 1> output_token_num) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  last_seq_lens_this_time.require(0, bsz, "slots of seq_lens_this_time");
  step_idx.require(0, bsz, "slots of seq_lens_this_time");
  const Continuing slots{last_seq_lens_this_time.data, seq_lens_this_time.data, step_idx.data};
  launch_pick<false, Element>(stream, "eagle_get_self_hidden_states", slots, bsz, input, out, output_token_num);
}

}  // namespace
}  // namespace opgold

// Rows are only moved: types of one size share their code.
OPGOLD_EXPORT(eagle_get_self_hidden_states, opgold::get_self_hidden_states<uint32_t, float>,
              opgold::get_self_hidden_states<uint16_t, opgold::Half>,
              opgold::get_self_hidden_states<uint16_t, opgold::BFloat16>)
