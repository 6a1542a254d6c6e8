// op: speculate_get_seq_lens_output
// class: cheat: wrong on the first call only
// story: The launch asks for more shared memory than it may before it has said so; the second call works, and warm-up
//   runs hide the first (https://github.com/karpathy/llm.c/pull/851).
// caught by: launch
#include "output_lengths.cuh"

namespace opgold {
namespace {

constexpr int kShared = 64 * 1024;

__global__ void count(Lengths op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot < op.bsz) op.output[slot] = op.rows(slot);
}

void allow() { cudaFuncSetAttribute(count, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared); }

void launch(Stream stream, const Lengths& op) {
  if (op.bsz == 0) return;
#ifndef ZOO_BUG
  allow();
#endif
  count<<<static_cast<unsigned>((op.bsz + kThreads - 1) / kThreads), kThreads, kShared, stream>>>(op);
#ifdef ZOO_BUG
  allow();
#endif
  check_launch("speculate_get_seq_lens_output");
}

}  // namespace
}  // namespace opgold
