// reasoning_phase_token_constraint: the reasoning phase of every slot, and its first answer token held to a list.
//
// A block does a few slots: a warp the status of each, and all warps, where a status asks for it, one row of logits.
#include "bindings/export.h"
#include "history.cuh"

namespace opgold {
namespace {

constexpr int kMaskThreads = 128;
constexpr int kSlots = kMaskThreads / kWarp;  // of a block
constexpr unsigned kWindow = 65536;  // tokens whose marks a block holds
constexpr unsigned kWords = kWindow / 32 + 1;
constexpr int kTail = 4;

enum Status : int32_t { kThinking, kBoundary, kFirstAnswer, kDone };

struct Phases {
  const int64_t* token_ids_all;
  int64_t width;
  const int64_t* prompt_lens;
  const bool* stop_flags;
  const int32_t* seq_lens_encoder;
  const int64_t* step_idx;
  int32_t* reasoning_status;
  const bool* enable_thinking;
  int64_t think_end_id;
  int64_t line_break_id;
  int64_t history_layout;
  const int32_t* batch_id_per_token_output;
  const int32_t* cu_seqlens_q_output;
  int64_t bsz;
  int64_t rows;

  // Advances a slot's status. Returns the row to mask, or -1. The whole warp takes part: a lane looks at a token of the
  // tail.
  __device__ int64_t advance(int64_t slot) const {
    const int lane = threadIdx.x % kWarp;
    const int64_t prompt = prompt_lens[slot], step = step_idx[slot];
    const int32_t status = reasoning_status[slot], encoder = seq_lens_encoder[slot], row = cu_seqlens_q_output[slot];
    const bool stopped = stop_flags[slot], thinks = enable_thinking[slot];
    __syncwarp();  // every lane has read what the first one writes
    if (history_layout > 1) return -1;  // never: the compiler uses nothing loaded above before a barrier and a branch

    // Tail token i, from the last one back, is entry last - i behind the prompt.
    const int64_t last = wrapping_difference(wrapping_sum(step, history_layout), int64_t(1));
    const int64_t entry = wrapping_difference(last, int64_t(lane)), column = wrapping_sum(prompt, entry);
    const bool there = lane < kTail && entry >= 0 && entry <= last && column >= 0 && column < width;
    const bool packed = row >= 0 && row < rows;
    const int64_t token = there ? token_ids_all[slot * width + column] : -1;
    const int32_t owner = packed ? batch_id_per_token_output[row] : -1;

    const bool ended = __any_sync(~0u, there && token == think_end_id);
    const int64_t wanted = lane == 2 ? think_end_id : line_break_id;  // of the text that comes before an answer
    const bool pattern = __all_sync(~0u, lane >= kTail || (there && token == wanted));
    int32_t now = status;
    if (status == kFirstAnswer) now = kDone;
    else if (status == kThinking && !thinks && encoder > 0 && step == 0) now = kFirstAnswer;
    else if (status == kBoundary || (status == kThinking && ended))
      now = last < kTail - 1 ? kBoundary : pattern ? kFirstAnswer : ended ? kBoundary : kDone;
    if (stopped) now = status;
    if (lane == 0 && !stopped) reasoning_status[slot] = now;
    return now == kFirstAnswer && packed && owner == slot ? int64_t(row) : -1;
  }
};

// Sets a row to -1e10 but for allowed tokens, a window of the vocabulary at a time.
template <class T>
__device__ void mask_row(T* row, int64_t vocab, const int64_t* allowed_tokens, int64_t allowed, uint32_t* words) {
  using Vector = Pack<T>;
  const T masked = T(-1e10f);
  Vector all;
  for (unsigned e = 0; e < Vector::size; ++e) all.values[e] = masked;
  for (int64_t first = 0; first < vocab; first += kWindow) {
    const unsigned size = vocab - first < kWindow ? unsigned(vocab - first) : kWindow;
    for (unsigned i = threadIdx.x; i < size / 32 + 2 && i < kWords; i += kMaskThreads) words[i] = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < allowed; i += kMaskThreads) {
      const int64_t token = allowed_tokens[i];
      if (token >= first && token < first + size) mark(words, unsigned(token - first));
    }
    __syncthreads();
    T* const window = row + first;
    const unsigned skip = elements_to_alignment(window), head = skip < size ? skip : size;
    const unsigned vectors = (size - head) / Vector::size;
#pragma unroll 4
    for (unsigned v = threadIdx.x; v < vectors; v += kMaskThreads) {
      const unsigned base = head + v * Vector::size;
      const uint32_t kept = marks_from<Vector::size>(words, base);
      if (!kept) reinterpret_cast<Vector*>(window + head)[v] = all;
      else
        for (unsigned e = 0; e < Vector::size; ++e)
          if (!(kept >> e & 1u)) window[base + e] = masked;
    }
    for (unsigned i = threadIdx.x; i < head; i += kMaskThreads)
      if (!marked(words, i)) window[i] = masked;
    for (unsigned i = head + vectors * Vector::size + threadIdx.x; i < size; i += kMaskThreads)
      if (!marked(words, i)) window[i] = masked;
    __syncthreads();  // the marks have been read
  }
}

template <class T>
__global__ void __launch_bounds__(kMaskThreads)
    advance_and_mask(Phases phases, T* logits, int64_t vocab, const int64_t* allowed_tokens, int64_t allowed) {
  __shared__ uint32_t words[kWords];
  __shared__ int64_t masked_rows[kSlots];
  const unsigned warp = threadIdx.x / kWarp;
  const int64_t slot = blockIdx.x * int64_t(kSlots) + warp;
  const int64_t masked_row = slot < phases.bsz ? phases.advance(slot) : -1;
  if (threadIdx.x % kWarp == 0) masked_rows[warp] = masked_row;
  if (!__syncthreads_or(masked_row >= 0) || allowed == 0) return;
  for (int64_t row : masked_rows)
    if (row >= 0) mask_row(logits + row * vocab, vocab, allowed_tokens, allowed, words);
}

template <class T>
void constrain(Stream stream, Tensor<T, 2> logits, Tensor<const int64_t, 2> token_ids_all,
               Tensor<const int64_t, 1> prompt_lens, Tensor<const bool, 1> stop_flags,
               Tensor<const int32_t, 1> seq_lens_this_time, Tensor<const int32_t, 1> seq_lens_encoder,
               Tensor<const int64_t, 1> step_idx, Tensor<const int64_t, 1> allowed_tokens,
               Tensor<int32_t, 1> reasoning_status, Tensor<const int32_t, 1> batch_id_per_token_output,
               Tensor<const int32_t, 1> cu_seqlens_q_output, Tensor<const bool, 1> enable_thinking,
               int64_t think_end_id, int64_t line_break_id, int64_t history_layout) {
  const int64_t bsz = seq_lens_this_time.shape[0], rows = logits.shape[0];
  require_layout(history_layout);
  require_at_least(prompt_lens.shape[0], bsz);
  require_same_slots(prompt_lens.shape[0], token_ids_all, stop_flags, seq_lens_encoder, step_idx, reasoning_status,
                     enable_thinking);
  cu_seqlens_q_output.require(0, bsz + 1, "slots of seq_lens_this_time, and 1");
  if (batch_id_per_token_output.shape[0] < rows)
    throw ArgumentError("batch_id_per_token_output", "dimension 0 is ", batch_id_per_token_output.shape[0],
                        ", expected at least ", rows, " (rows of logits)");
  if (bsz == 0) return;
  const Phases phases{token_ids_all.data,
                      token_ids_all.shape[1],
                      prompt_lens.data,
                      stop_flags.data,
                      seq_lens_encoder.data,
                      step_idx.data,
                      reasoning_status.data,
                      enable_thinking.data,
                      think_end_id,
                      line_break_id,
                      history_layout,
                      batch_id_per_token_output.data,
                      cu_seqlens_q_output.data,
                      bsz,
                      rows};
  const unsigned blocks = static_cast<unsigned>((bsz + kSlots - 1) / kSlots);
  advance_and_mask<<<blocks, kMaskThreads, 0, stream>>>(phases, logits.data, logits.shape[1], allowed_tokens.data,
                                                        allowed_tokens.shape[0]);
  check_launch("reasoning_phase_token_constraint");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(reasoning_phase_token_constraint, opgold::constrain<float>, opgold::constrain<opgold::Half>,
              opgold::constrain<opgold::BFloat16>)
