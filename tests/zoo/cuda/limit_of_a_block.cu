// op: speculate_get_seq_lens_output
// class: LIMIT
// story: One block of 1,024 threads was thought to be enough for any batch
//   (https://github.com/vllm-project/vllm-ascend/pull/4441).
// caught by: footprint
#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
#ifdef ZOO_BUG
  if (threadIdx.x < op.bsz) op.output[threadIdx.x] = op.rows(threadIdx.x);
#else
  for (int64_t slot = threadIdx.x; slot < op.bsz; slot += blockDim.x) op.output[slot] = op.rows(slot);
#endif
}

void launch(Stream stream, const Lengths& op) {
  count<<<1, 1024, 0, stream>>>(op);
  check_launch("speculate_get_seq_lens_output");
}

}  // namespace
}  // namespace opgold
