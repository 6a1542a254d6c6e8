// speculate_get_seq_lens_output: how many rows each slot gives to sampling.
#include "bindings/export.h"
#include "packing.cuh"

namespace opgold {
namespace {

__global__ void __launch_bounds__(kThreads)
    count_rows(const int32_t* seq_lens_this_time, const int32_t* seq_lens_encoder, int64_t bsz,
               int32_t* seq_lens_output) {
  const int64_t b = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (b < bsz) seq_lens_output[b] = output_rows(seq_lens_this_time[b], seq_lens_encoder[b]);
}

void speculate_get_seq_lens_output(Stream stream, Tensor<const int32_t, 1> seq_lens_this_time,
                                   Tensor<const int32_t, 1> seq_lens_encoder,
                                   Tensor<const int32_t, 1> seq_lens_decoder, Tensor<int32_t, 1> seq_lens_output) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  seq_lens_encoder.require(0, bsz, "slots of seq_lens_this_time");
  seq_lens_decoder.require(0, bsz, "slots of seq_lens_this_time");
  seq_lens_output.require(0, bsz, "slots of seq_lens_this_time");
  count_rows<<<blocks_for(bsz), kThreads, 0, stream>>>(seq_lens_this_time.data, seq_lens_encoder.data, bsz,
                                                       seq_lens_output.data);
  check_launch("speculate_get_seq_lens_output");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_get_seq_lens_output, opgold::speculate_get_seq_lens_output)
