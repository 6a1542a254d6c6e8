// get_position_ids_and_mask_encoder_batch: the position of every packed token in its sequence. A prompt chunk is as
// long as its slot, so that seq_lens_encoder says nothing more.
#include "bindings/export.h"
#include "segments.cuh"

namespace opgold {
namespace {

struct Positions {
  const int32_t* seq_lens_decoder;
  const int32_t* seq_lens_this_time;
  int64_t bsz;
  int32_t* position_ids;
  int64_t rows;
};

__global__ void __launch_bounds__(kThreads) write_positions(Positions batch) {
  __shared__ SpanTable table;
  __shared__ uint32_t cached[kChunk];
  const int64_t stride = int64_t(gridDim.x) * kThreads;
  int64_t row = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const auto span = [&](int64_t slot) -> Span {
    const uint32_t tokens = batch.seq_lens_this_time[slot];
    cached[slot % kChunk] = batch.seq_lens_decoder[slot];
    return {0, tokens};
  };
  for_each_chunk(span, batch.bsz, table, [&](int64_t, int slots) {
    const int64_t end = table.starts[slots].emitted;
    for (; row < end && row < batch.rows; row += stride) {
      const int slot = table.slot_at(static_cast<uint32_t>(row), slots);
      batch.position_ids[row] = static_cast<int32_t>(cached[slot] + uint32_t(row - table.starts[slot].emitted));
    }
  });
}

void get_position_ids(Stream stream, Tensor<const int32_t, 1> seq_lens_encoder,
                      Tensor<const int32_t, 1> seq_lens_decoder, Tensor<const int32_t, 1> seq_lens_this_time,
                      Tensor<int32_t, 1> position_ids) {
  const int64_t bsz = seq_lens_encoder.shape[0], rows = position_ids.shape[0];
  seq_lens_decoder.require(0, bsz, "slots of seq_lens_encoder");
  seq_lens_this_time.require(0, bsz, "slots of seq_lens_encoder");
  if (bsz == 0 || rows == 0) return;
  write_positions<<<summing_blocks(blocks_for(rows)), kThreads, 0, stream>>>(Positions{
      seq_lens_decoder.data, seq_lens_this_time.data, bsz, position_ids.data, rows});
  check_launch("get_position_ids_and_mask_encoder_batch");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(get_position_ids_and_mask_encoder_batch, opgold::get_position_ids)
