// rebuild_padding: picks the rows of a packed batch that go on to sampling, in one pass over the output.
#include "bindings/export.h"
#include "packing.cuh"

namespace opgold {
namespace {

constexpr int kVectorsPerThread = 4;  // 16-byte loads in flight
constexpr int kNarrow = 8;            // threads that fill a memory transaction

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

// A thread's part of a row: elements or vectors first, first + stride, ...
struct Share {
  int64_t first;
  int64_t stride;
};

// Writes a share of `target`: what `source` holds, or zeros where that is null. Vectors if both can be aligned at once.
template <class Element>
__device__ void write_row(const Element* __restrict__ source, Element* __restrict__ target, int64_t width, Share share) {
  constexpr int64_t kPerVector = sizeof(uint4) / sizeof(Element);
  const uintptr_t from = reinterpret_cast<uintptr_t>(source), to = reinterpret_cast<uintptr_t>(target);
  int64_t head = width;  // elements before the first vector
  if (!source || from % sizeof(uint4) == to % sizeof(uint4)) {
    const int64_t misaligned = to % sizeof(uint4) / sizeof(Element);
    const int64_t skip = misaligned ? kPerVector - misaligned : 0;
    if (skip < width) head = skip;
  }
  const int64_t vectors = (width - head) / kPerVector;
  uint4* to_vectors = reinterpret_cast<uint4*>(target + head);

  uint4 held[kVectorsPerThread];
#pragma unroll
  for (int k = 0; k < kVectorsPerThread; ++k) {
    const int64_t v = share.first + k * share.stride;
    held[k] = make_uint4(0, 0, 0, 0);
    if (source && v < vectors) held[k] = reinterpret_cast<const uint4*>(source + head)[v];
  }
#pragma unroll
  for (int k = 0; k < kVectorsPerThread; ++k) {
    const int64_t v = share.first + k * share.stride;
    if (v < vectors) to_vectors[v] = held[k];
  }
#pragma unroll 4
  for (int64_t i = share.first; i < head; i += share.stride) target[i] = source ? source[i] : Element{};
  for (int64_t i = head + vectors * kPerVector + share.first; i < width; i += share.stride)
    target[i] = source ? source[i] : Element{};
}

// `lanes` threads, and as many in each of `chunks` blocks, write a row.
template <class Element>
__global__ void __launch_bounds__(kThreads)
    rebuild_rows(Batch batch, const Element* tmp_out, Element* first_token_out, Element* out, int64_t rows,
                 int64_t width, unsigned lanes, unsigned chunks) {
  const int64_t row = int64_t(blockIdx.x / chunks) * (kThreads / lanes) + threadIdx.x / lanes;
  if (row >= rows) return;
  const Share share{int64_t(blockIdx.x % chunks) * lanes + threadIdx.x % lanes, int64_t(chunks) * lanes};
  const Origin origin = batch.origin(row);
  write_row(origin.source < 0 ? nullptr : tmp_out + origin.source * width, out + row * width, width, share);
  if (first_token_out && origin.before_last >= 0)
    write_row(tmp_out + origin.before_last * width, first_token_out + origin.slot * width, width, share);
}

int64_t up_to_multiple(int64_t count, int64_t unit) { return (count + unit - 1) / unit; }

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

  // The narrowest rows get a thread a vector, wider ones four vectors a thread, the widest several blocks.
  const int64_t vectors = up_to_multiple(width * sizeof(Element), sizeof(uint4));
  int64_t lanes = 1;
  while (lanes < kThreads && lanes * (lanes < kNarrow ? 1 : kVectorsPerThread) < vectors) lanes *= 2;
  const int64_t chunks = up_to_multiple(vectors, lanes * kVectorsPerThread);
  const int64_t blocks = up_to_multiple(rows, kThreads / lanes) * chunks;

  const Batch batch{cu_seqlens_q.data,
                    seq_lens_this_time.data,
                    seq_lens_encoder.data,
                    batch_id_per_token_output.data,
                    cu_seqlens_q_output.data,
                    bsz,
                    tmp_out.shape[0],
                    batch_id_per_token_output.shape[0]};
  Element* first = speculative && enable_logprob ? reinterpret_cast<Element*>(first_token_out.data) : nullptr;
  rebuild_rows<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      batch, reinterpret_cast<const Element*>(tmp_out.data), first, reinterpret_cast<Element*>(out.data), rows, width,
      static_cast<unsigned>(lanes), static_cast<unsigned>(chunks));
  check_launch("rebuild_padding");
}

}  // namespace
}  // namespace opgold

// Rows are only moved: types of one size share their code.
OPGOLD_EXPORT(rebuild_padding, opgold::rebuild<uint32_t, float>, opgold::rebuild<uint16_t, opgold::Half>,
              opgold::rebuild<uint16_t, opgold::BFloat16>)
