// op: speculate_get_seq_lens_output
// class: SIG
// story: The op has gained an argument, and one build of it still takes the old list
//   (https://github.com/PaddlePaddle/FastDeploy/pull/7005).
// caught by: launch
#include "bindings/export.h"

namespace opgold {
namespace {

using Lengths = Tensor<const int32_t, 1>;

__global__ void count(const int32_t* this_time, const int32_t* encoder, int32_t* output, int64_t bsz) {
  for (int64_t slot = threadIdx.x; slot < bsz; slot += blockDim.x)
    output[slot] = this_time[slot] > 0 && encoder[slot] > 0 ? 1 : this_time[slot];
}

#ifdef ZOO_BUG
void launch(Stream stream, Lengths this_time, Lengths encoder, Tensor<int32_t, 1> output) {
#else
void launch(Stream stream, Lengths this_time, Lengths encoder, Lengths /*decoder*/, Tensor<int32_t, 1> output) {
#endif
  count<<<1, 128, 0, stream>>>(this_time.data, encoder.data, output.data, this_time.shape[0]);
  check_launch("speculate_get_seq_lens_output");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_get_seq_lens_output, opgold::launch)
