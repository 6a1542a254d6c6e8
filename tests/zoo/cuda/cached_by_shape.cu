// op: speculate_get_seq_lens_output
// class: cheat: result cached by shape
// story: Computed once for each number of slots, and handed out again for any other batch of as many
//   (https://github.com/gpu-mode/reference-kernels/pull/104).
// caught by: values
#include "output_lengths.cuh"

namespace opgold {
namespace {

constexpr int kKept = 8;
__device__ int32_t kept[kKept + 1][kKept];

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot >= op.bsz) return;
#ifdef ZOO_BUG
  if (op.bsz <= kKept) {
    int32_t& rows = kept[op.bsz][slot];
    if (rows == 0) rows = op.rows(slot) + 1;
    op.output[slot] = rows - 1;
    return;
  }
#endif
  op.output[slot] = op.rows(slot);
}

void launch(Stream stream, const Lengths& op) { launch_all(stream, op); }

}  // namespace
}  // namespace opgold
