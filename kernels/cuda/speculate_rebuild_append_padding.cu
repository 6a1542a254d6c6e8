// speculate_rebuild_append_padding: picks the rows that go on to sampling, by the legacy output-side offsets.
#include "bindings/export.h"
#include "rows.cuh"

namespace opgold {
namespace {

struct Batch {
  const int32_t* cum_offsets;
  const int32_t* seq_lens_encoder;
  const int32_t* seq_lens_decoder;
  const int32_t* output_padding_offset;
  int64_t bsz;
  int64_t max_seq_len;
  int64_t tokens;

  __device__ int64_t start(int64_t slot) const {
    return slot < bsz ? slot * max_seq_len - cum_offsets[slot] : tokens;
  }

  // A row whose place is not one of its slot's output rows is zero.
  __device__ Filling filling(int64_t row) const {
    const int64_t place = row + output_padding_offset[row];
    if (place < 0 || place > INT32_MAX || place >= bsz * max_seq_len) return {};
    const int64_t slot = static_cast<uint32_t>(place) / static_cast<uint32_t>(max_seq_len);
    const int64_t index = place - slot * max_seq_len;
    const int64_t prompt = seq_lens_encoder[slot];
    if (prompt <= 0 && seq_lens_decoder[slot] <= 0) return {};
    const int64_t begin = start(slot), in_slot = prompt > 0 ? prompt - 1 : index;
    if (begin + in_slot >= start(slot + 1) || (prompt > 0 && index > 0)) return {};
    return {begin + in_slot, 0};
  }
};

template <class Element, class T>
void rebuild_append(Stream stream, Tensor<const T, 2> full_hidden_states, Tensor<const int32_t, 1> cum_offsets,
                    Tensor<const int32_t, 1> seq_lens_encoder, Tensor<const int32_t, 1> seq_lens_decoder,
                    Tensor<const int32_t, 1> output_padding_offset, Tensor<T, 2> out, int64_t max_seq_len) {
  const int64_t bsz = cum_offsets.shape[0], rows = output_padding_offset.shape[0];
  seq_lens_encoder.require(0, bsz, "slots of cum_offsets");
  seq_lens_decoder.require(0, bsz, "slots of cum_offsets");
  out.require(0, rows, "rows of output_padding_offset");
  out.require(1, full_hidden_states.shape[1], "columns of full_hidden_states");
  if (max_seq_len < 1 || max_seq_len > INT32_MAX)
    throw ArgumentError("max_seq_len", max_seq_len, ", expected 1 to ", INT32_MAX);
  const Batch batch{cum_offsets.data, seq_lens_encoder.data, seq_lens_decoder.data, output_padding_offset.data,
                    bsz,              max_seq_len,           full_hidden_states.shape[0]};
  launch_fill_rows(stream, batch, reinterpret_cast<const Element*>(full_hidden_states.data),
                   full_hidden_states.shape[0], reinterpret_cast<Element*>(out.data), rows,
                   full_hidden_states.shape[1]);
  check_launch("speculate_rebuild_append_padding");
}

}  // namespace
}  // namespace opgold

// Rows are only moved: types of one size share their code.
OPGOLD_EXPORT(speculate_rebuild_append_padding, opgold::rebuild_append<uint32_t, float>,
              opgold::rebuild_append<uint16_t, opgold::Half>, opgold::rebuild_append<uint16_t, opgold::BFloat16>)
