// op: speculate_get_seq_lens_output
// class: RACE
// story: Each slot is written by two threads, which are said to agree, and do not about prompts.
// caught by: race
#include "bindings/annotations.h"
#include "output_lengths.cuh"

namespace opgold {
namespace {

__global__ void count(Lengths op) {
  const int64_t thread = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  for (int64_t slot = thread / 2; slot < op.bsz; slot += gridDim.x * int64_t(kThreads / 2)) {
    OPGOLD_SAME_VALUE("both threads of a slot count alike");
#ifdef ZOO_BUG
    op.output[slot] = thread % 2 ? op.this_time[slot] : op.rows(slot);
#else
    op.output[slot] = op.rows(slot);
#endif
  }
}

void launch(Stream stream, const Lengths& op) { launch_all(stream, op); }

}  // namespace
}  // namespace opgold
