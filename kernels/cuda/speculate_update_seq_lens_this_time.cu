// speculate_update_seq_lens_this_time: the tokens of decode rows in a step of a fixed number of them.
#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    set_lengths(int32_t* seq_lens_this_time, const int32_t* seq_lens_encoder, const int32_t* seq_lens_decoder,
                int64_t real_bsz, int32_t value) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot >= real_bsz) return;
  const int32_t encoder = seq_lens_encoder[slot], decoder = seq_lens_decoder[slot];
  if (encoder == 0) seq_lens_this_time[slot] = decoder != 0 ? value : 0;
}

void speculate_update_seq_lens_this_time(Stream stream, Tensor<int32_t, 1> seq_lens_this_time,
                                         Tensor<const int32_t, 1> seq_lens_encoder,
                                         Tensor<const int32_t, 1> seq_lens_decoder, int64_t real_bsz, int32_t value) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  seq_lens_encoder.require(0, bsz, "slots of seq_lens_this_time");
  seq_lens_decoder.require(0, bsz, "slots of seq_lens_this_time");
  if (real_bsz < 0 || real_bsz > bsz)
    throw ArgumentError("real_bsz", "is ", real_bsz, ", expected 0 to the ", bsz, " rows of seq_lens_this_time");
  if (value < 0) throw ArgumentError("value", "is ", value, ", expected at least 0");
  if (real_bsz == 0) return;
  set_lengths<<<static_cast<unsigned>((real_bsz + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      seq_lens_this_time.data, seq_lens_encoder.data, seq_lens_decoder.data, real_bsz, value);
  check_launch("speculate_update_seq_lens_this_time");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_update_seq_lens_this_time, opgold::speculate_update_seq_lens_this_time)
