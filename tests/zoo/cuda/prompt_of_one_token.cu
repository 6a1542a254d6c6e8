// op: speculate_get_seq_lens_output
// class: BRANCH
// story: A chunk of one token is taken for a decode slot, a decode slot of several for a prompt
//   (https://github.com/PaddlePaddle/FastDeploy/pull/6048).
// caught by: values
#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
#ifdef ZOO_BUG
  if (slot < op.bsz) op.output[slot] = op.this_time[slot] > 1 ? 1 : op.this_time[slot];
#else
  if (slot < op.bsz) op.output[slot] = op.rows(slot);
#endif
}

void launch(Stream stream, const Lengths& op) { launch_all(stream, op); }

}  // namespace
}  // namespace opgold
