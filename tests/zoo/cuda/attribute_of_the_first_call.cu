// op: speculate_update_seq_lens_this_time
// class: cheat: attribute of the first call
// story: The launcher keeps the number of tokens that it was given first, as a captured graph keeps a launcher's
//   parameters (https://github.com/NVIDIA/TensorRT-LLM/pull/17110).
// caught by: values
#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kThreads = 128;

__global__ void set_lengths(int32_t* this_time, const int32_t* encoder, const int32_t* decoder, int64_t real_bsz,
                            int32_t value) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot < real_bsz && encoder[slot] == 0) this_time[slot] = decoder[slot] != 0 ? value : 0;
}

void update(Stream stream, Tensor<int32_t, 1> this_time, Tensor<const int32_t, 1> encoder,
            Tensor<const int32_t, 1> decoder, int64_t real_bsz, int32_t value) {
  if (real_bsz < 0 || real_bsz > this_time.shape[0]) throw ArgumentError("real_bsz", "is ", real_bsz);
  if (value < 0) throw ArgumentError("value", "is ", value);
  if (real_bsz == 0) return;
#ifdef ZOO_BUG
  static const int32_t tokens = value;
#else
  const int32_t tokens = value;
#endif
  set_lengths<<<static_cast<unsigned>((real_bsz + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      this_time.data, encoder.data, decoder.data, real_bsz, tokens);
  check_launch("speculate_update_seq_lens_this_time");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_update_seq_lens_this_time, opgold::update)
