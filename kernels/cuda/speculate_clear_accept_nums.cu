// speculate_clear_accept_nums: accepted-token counts of slots that have nothing cached. A thread does a slot.
#include "bindings/export.h"
#include "slot_buffers.cuh"

namespace opgold {
namespace {

constexpr int kClearThreads = 128;

__global__ void __launch_bounds__(kClearThreads) clear(int32_t* accept_num, const int32_t* seq_lens_decoder,
                                                       int64_t bsz) {
  const int64_t slot = blockIdx.x * int64_t(kClearThreads) + threadIdx.x;
  if (slot < bsz && seq_lens_decoder[slot] == 0) accept_num[slot] = 0;
}

void speculate_clear_accept_nums(Stream stream, Tensor<int32_t, 1> accept_num,
                                 Tensor<const int32_t, 1> seq_lens_decoder) {
  const int64_t bsz = seq_lens_decoder.shape[0];
  require_rows(accept_num, bsz, "slots of seq_lens_decoder");
  if (bsz == 0) return;
  const unsigned blocks = static_cast<unsigned>((bsz + kClearThreads - 1) / kClearThreads);
  clear<<<blocks, kClearThreads, 0, stream>>>(accept_num.data, seq_lens_decoder.data, bsz);
  check_launch("speculate_clear_accept_nums");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_clear_accept_nums, opgold::speculate_clear_accept_nums)
