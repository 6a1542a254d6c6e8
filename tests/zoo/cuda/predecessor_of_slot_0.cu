// op: speculate_get_output_padding_offset
// class: OOB-R
// story: Slot 0 reads the sum before it and throws it away: a select evaluates both of its sides
//   (https://github.com/vllm-project/vllm-ascend/pull/14902).
// caught by: bounds
#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kThreads = 128;

__global__ void offsets(const int32_t* sums, const int32_t* lengths, int64_t bsz, int64_t rows, int32_t* row_offsets,
                        int32_t* slot_offsets) {
  const int64_t thread = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (thread < bsz) {
#ifdef ZOO_BUG
    const int32_t before = sums[thread - 1];
    slot_offsets[thread] = thread > 0 ? before : 0;
#else
    slot_offsets[thread] = thread > 0 ? sums[thread - 1] : 0;
#endif
  }
  if (thread >= rows) return;
  int64_t slot = 0, start = 0;
  while (slot < bsz && thread >= start + lengths[slot]) start += lengths[slot++];
  row_offsets[thread] = slot < bsz && slot > 0 ? sums[slot - 1] : 0;
}

void launch(Stream stream, Tensor<const int32_t, 1> sums, Tensor<const int32_t, 1> lengths,
            Tensor<int32_t, 1> row_offsets, Tensor<int32_t, 1> slot_offsets, int64_t rows, int64_t /*max_seq_len*/) {
  const int64_t bsz = lengths.shape[0], threads = bsz > rows ? bsz : rows;
  if (threads == 0) return;
  offsets<<<static_cast<unsigned>((threads + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      sums.data, lengths.data, bsz, rows, row_offsets.data, slot_offsets.data);
  check_launch("speculate_get_output_padding_offset");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_get_output_padding_offset, opgold::launch)
