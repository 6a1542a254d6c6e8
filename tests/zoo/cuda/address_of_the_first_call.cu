// op: speculate_get_seq_lens_output
// class: ADDR
// story: The launcher keeps the address that the output had at first, as a captured graph does
//   (https://github.com/PaddlePaddle/FastDeploy/pull/7864).
// caught by: bounds
#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot < op.bsz) op.output[slot] = op.rows(slot);
}

void launch(Stream stream, const Lengths& op) {
#ifdef ZOO_BUG
  static int32_t* const output = op.output;
  Lengths kept = op;
  kept.output = output;
  launch_all(stream, kept);
#else
  launch_all(stream, op);
#endif
}

}  // namespace
}  // namespace opgold
