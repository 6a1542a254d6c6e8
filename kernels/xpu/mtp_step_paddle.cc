// mtp_step_paddle: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"
#include "xpu/slot_checks.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void mtp_step_paddle(const bool* base_model_stop_flags, bool* stop_flags, bool* batch_drop,
                                             int* seq_lens_this_time, int* seq_lens_decoder, int* block_tables,
                                             Int64 columns, int* encoder_block_lens, int* used_list_len,
                                             int* free_list, Int64 capacity, int* free_list_len, int* status, int bsz,
                                             int block_size, int max_draft_tokens);

}  // namespace xpu

namespace {

void mtp_step_paddle(Stream stream, Tensor<const bool, 1> base_model_stop_flags, Tensor<bool, 1> stop_flags,
                     Tensor<bool, 1> batch_drop, Tensor<int32_t, 1> seq_lens_this_time,
                     Tensor<const int32_t, 1> seq_lens_encoder, Tensor<int32_t, 1> seq_lens_decoder,
                     Tensor<int32_t, 2> block_tables, Tensor<int32_t, 1> encoder_block_lens,
                     Tensor<int32_t, 1> used_list_len, Tensor<int32_t, 1> free_list, Tensor<int32_t, 1> free_list_len,
                     Tensor<int32_t, 1> status, int32_t block_size, int32_t max_draft_tokens) {
  const int bsz = count_of(base_model_stop_flags, 0);
  require_each(bsz, "slots of base_model_stop_flags", stop_flags, batch_drop, seq_lens_this_time, seq_lens_encoder,
               seq_lens_decoder, block_tables, encoder_block_lens, used_list_len);
  free_list_len.require(0, 1, "a count");
  status.require(0, 1, "one number");
  if (block_size < 1) throw ArgumentError("block_size", block_size, ", expected at least 1");
  if (max_draft_tokens < 0) throw ArgumentError("max_draft_tokens", max_draft_tokens, ", expected at least 0");
  check_launch("mtp_step_paddle",
               xpu::mtp_step_paddle<<<1, cores(), stream>>>(
                   base_model_stop_flags.data, stop_flags.data, batch_drop.data, seq_lens_this_time.data,
                   seq_lens_decoder.data, block_tables.data, block_tables.shape[1], encoder_block_lens.data,
                   used_list_len.data, free_list.data, free_list.shape[0], free_list_len.data, status.data, bsz,
                   block_size, max_draft_tokens));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(mtp_step_paddle, opgold::mtp_step_paddle)
