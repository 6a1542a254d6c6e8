// rebuild_padding: picks the rows of a packed batch that go on to sampling, in one pass over the output.
#include "bindings/export.h"
#include "rows.cuh"

namespace opgold {
namespace {

// Where an output row comes from: packed rows, or -1 for none.
struct Origin {
  int64_t source = -1;
  int64_t slot = -1;
  int64_t before_last = -1;  // the row before the last of the slot's prompt chunk
};

struct Batch {
  const int32_t* cu_seqlens_q;
  const int32_t* seq_lens_this_time;
  const int32_t* seq_lens_encoder;
  const int32_t* batch_id_per_token_output;  // null in normal mode
  const int32_t* cu_seqlens_q_output;
  int64_t bsz;
  int64_t tokens;
  int64_t ids;

  // Of all rows only the first one of a slot has a `before_last`: first_token_out[slot] has one writer.
  __device__ Origin origin(int64_t row) const {
    int64_t slot = row, index = 0;
    if (batch_id_per_token_output) {
      if (row >= ids) return {};
      slot = batch_id_per_token_output[row];
      if (slot < 0 || slot >= bsz) return {};
      index = row - cu_seqlens_q_output[slot];
      if (index < 0 || row >= cu_seqlens_q_output[slot + 1]) return {};
    } else if (row >= bsz || seq_lens_this_time[row] <= 0) {
      return {};
    }
    const int64_t chunk = seq_lens_encoder[slot];
    const int64_t source = cu_seqlens_q[slot] + (chunk > 0 ? chunk - 1 : index);
    if (source < 0 || source >= tokens) return {};
    return {source, slot, index == 0 && chunk > 1 ? source - 1 : -1};
  }
};

// `lanes` threads, and as many in each of `chunks` blocks, write a row.
template <class Element>
__global__ void __launch_bounds__(kRowThreads)
    rebuild_rows(Batch batch, const Element* tmp_out, Element* first_token_out, Element* out, int64_t rows,
                 int64_t width, unsigned lanes, unsigned chunks) {
  const int64_t row = int64_t(blockIdx.x / chunks) * (kRowThreads / lanes) + threadIdx.x / lanes;
  if (row >= rows) return;
  const Share share{int64_t(blockIdx.x % chunks) * lanes + threadIdx.x % lanes, int64_t(chunks) * lanes};
  const Origin origin = batch.origin(row);
  write_row(origin.source < 0 ? nullptr : tmp_out + origin.source * width, out + row * width, width, share);
  if (first_token_out && origin.before_last >= 0)
    write_row(tmp_out + origin.before_last * width, first_token_out + origin.slot * width, width, share);
}

template <class Element, class T>
void rebuild(Stream stream, Tensor<const T, 2> tmp_out, Tensor<const int32_t, 1> cu_seqlens_q,
             Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> seq_lens_decoder,
             Tensor<const int32_t, 1> seq_lens_encoder, Optional<Tensor<const int32_t, 1>> batch_id_per_token_output,
             Optional<Tensor<const int32_t, 1>> cu_seqlens_q_output, Optional<Tensor<T, 2>> first_token_out,
             Tensor<T, 2> out, bool enable_logprob) {
  const int64_t bsz = seq_lens_this_time.shape[0], width = tmp_out.shape[1], rows = out.shape[0];
  cu_seqlens_q.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  seq_lens_decoder.require(0, bsz, "slots of seq_lens_this_time");
  seq_lens_encoder.require(0, bsz, "slots of seq_lens_this_time");
  const bool speculative = batch_id_per_token_output.given;
  if (speculative != cu_seqlens_q_output.given)
    throw ArgumentError(speculative ? "cu_seqlens_q_output" : "batch_id_per_token_output",
                        "required with the other of the two");
  if (speculative) cu_seqlens_q_output.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  if (first_token_out.given) {
    first_token_out.require(1, width, "columns of tmp_out");
    if (first_token_out.shape[0] < bsz)
      throw ArgumentError("first_token_out", first_token_out.shape[0], " rows, expected at least ", bsz);
  }
  out.require(1, width, "columns of tmp_out");
  if (rows == 0 || width == 0) return;

  const RowSplit split = RowSplit::of_bytes(width * int64_t(sizeof(Element)), kRowThreads);
  const int64_t blocks = up_to_multiple(rows, split.rows_per_block()) * split.chunks;

  const Batch batch{cu_seqlens_q.data,
                    seq_lens_this_time.data,
                    seq_lens_encoder.data,
                    batch_id_per_token_output.data,
                    cu_seqlens_q_output.data,
                    bsz,
                    tmp_out.shape[0],
                    batch_id_per_token_output.shape[0]};
  Element* first = speculative && enable_logprob ? reinterpret_cast<Element*>(first_token_out.data) : nullptr;
  rebuild_rows<<<static_cast<unsigned>(blocks), kRowThreads, 0, stream>>>(
      batch, reinterpret_cast<const Element*>(tmp_out.data), first, reinterpret_cast<Element*>(out.data), rows, width,
      split.lanes, static_cast<unsigned>(split.chunks));
  check_launch("rebuild_padding");
}

}  // namespace
}  // namespace opgold

// Rows are only moved: types of one size share their code.
OPGOLD_EXPORT(rebuild_padding, opgold::rebuild<uint32_t, float>, opgold::rebuild<uint16_t, opgold::Half>,
              opgold::rebuild<uint16_t, opgold::BFloat16>)
