// A batch whose rows stand by class, those of prompt chunks before those of decode slots, beside the order of slots.
#pragma once

#include "xpu/row_runs.h"
#include "xpu/slot_class.h"

namespace opgold {
namespace xpu {

struct SplitBatch {
  SlotClass prompts, decodes;

  __device__ Int64 rows() const { return prompts.rows() + decodes.rows(); }

  // For one of the rows of the split batch: where it stands in slot order. No run is empty, whatever the arrays hold: the
  // start behind it has been compared with the row.
  __device__ Run ordered(Int64 row) const {
    const Run none = {-1, 1};
    const bool prompt = row < prompts.rows();
    const SlotClass& own = prompt ? prompts : decodes;
    const SlotClass& other = prompt ? decodes : prompts;
    if (own.count == 0) return none;
    const Int64 index = prompt ? row : row - prompts.rows();
    const int k = own.holding(index);
    const Run run = {index + other.starts[other.before(own.slots[k])], own.starts[k + 1] - index};
    return run;
  }
};

// The first `len_info[0]` slots of the one class and the first `len_info[1]` of the other.
static inline __device__ SplitBatch split_batch(__global_ptr__ const int* encoder_slots,
                                                __global_ptr__ const int* encoder_seq_lod,
                                                __global_ptr__ const int* decoder_slots,
                                                __global_ptr__ const int* decoder_seq_lod, int bsz,
                                                __global_ptr__ const int* len_info) {
  const SplitBatch batch = {{encoder_slots, encoder_seq_lod, min(max(len_info[0], 0), bsz)},
                            {decoder_slots, decoder_seq_lod, min(max(len_info[1], 0), bsz)}};
  return batch;
}

// Rows in slot order: all of them or, of each prompt chunk, the last one only.
struct OrderedRows {
  SplitBatch batch;
  bool last_only;

  // Rows of the first `chunks` prompt chunks.
  __device__ Int64 prompt_rows(int chunks) const { return last_only ? chunks : batch.prompts.starts[chunks]; }
  __device__ Int64 rows() const { return prompt_rows(batch.prompts.count) + batch.decodes.rows(); }
  __device__ Int64 start(int chunk) const {
    return prompt_rows(chunk) + batch.decodes.starts[batch.decodes.before(batch.prompts.slots[chunk])];
  }

  // How many prompt chunks start at or before `row`.
  __device__ int chunks_to(Int64 row) const {
    int low = 0;
    for (int high = batch.prompts.count; low < high;) {
      const int middle = low + (high - low) / 2;
      if (start(middle) <= row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // For one of the rows in slot order: where it stands in the split batch. No run is empty, for the same reason.
  __device__ Run split(Int64 row) const {
    const int chunks = chunks_to(row);
    if (chunks > 0) {
      const Int64 index = row - start(chunks - 1);
      const Int64 first = batch.prompts.starts[chunks - 1], end = batch.prompts.starts[chunks];
      const Run last = {end - 1, 1}, rest = {first + index, end - first - index};
      if (last_only && index == 0) return last;
      if (!last_only && index < end - first) return rest;
    }
    const Int64 next = chunks < batch.prompts.count ? start(chunks) : rows();
    const Run run = {batch.prompts.rows() + row - prompt_rows(chunks), next - row};
    return run;
  }
};

}  // namespace xpu
}  // namespace opgold
