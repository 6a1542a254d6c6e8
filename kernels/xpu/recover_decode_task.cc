// recover_decode_task: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void recover_decode_task(bool* stop_flags, int* seq_lens_this_time, int* seq_lens_encoder,
                                                 int* seq_lens_decoder, const int* step_seq_lens_decoder,
                                                 const int* block_tables, Int64 blocks_per_slot, unsigned block_size,
                                                 unsigned ahead, bool* is_block_step, Int64 bsz);

}  // namespace xpu

namespace {

void recover_decode_task(Stream stream, Tensor<bool, 1> stop_flags, Tensor<int32_t, 1> seq_lens_this_time,
                         Tensor<int32_t, 1> seq_lens_encoder, Tensor<int32_t, 1> seq_lens_decoder,
                         Tensor<const int32_t, 1> step_seq_lens_decoder, Tensor<const int32_t, 2> block_tables,
                         Tensor<bool, 1> is_block_step, int64_t block_size, int64_t max_draft_tokens) {
  const int64_t bsz = seq_lens_this_time.shape[0];
  require_all_slots(is_block_step.shape[0], bsz, stop_flags, seq_lens_encoder, seq_lens_decoder, step_seq_lens_decoder,
                    block_tables);
  const unsigned ahead = require_look_ahead(block_size, max_draft_tokens);
  if (bsz == 0) return;
  check_launch("recover_decode_task",
               xpu::recover_decode_task<<<clusters(), cores(), stream>>>(
                   stop_flags.data, seq_lens_this_time.data, seq_lens_encoder.data, seq_lens_decoder.data,
                   step_seq_lens_decoder.data, block_tables.data, block_tables.shape[1],
                   static_cast<unsigned>(block_size), ahead, is_block_step.data, bsz));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(recover_decode_task, opgold::recover_decode_task)
