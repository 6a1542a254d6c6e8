// speculate_set_stop_value_multi_seqs: cuts accepted tokens behind the first stop sequence that ends in them.
//
// A block does a slot: its warps take sequences, their lanes the places where one may end. For few and short sequences
// and few drafts, one warp takes all of them.
#include "bindings/export.h"
#include "history.cuh"

namespace opgold {
namespace {

constexpr int kStopThreads = 128;
constexpr int kCompared = 4;  // tokens whose loads are in flight
constexpr int kFewSequences = 4, kFewTokens = 8, kFewPlaces = 8;
static_assert(kFewSequences * kFewTokens == kWarp && kFewTokens == kFewPlaces, "a lane a token, and a place");

struct StopSearch {
  const int64_t* history;  // the slot's first generated token
  int64_t history_count;
  const int64_t* accepted;

  // Whether the generated tokens before place `end`, of which accepted[0] is 0, end with the sequence.
  __device__ bool ends_with(int64_t end, const int64_t* sequence, int64_t length) const {
    if (history_count + end < length) return false;
    bool same = true;
    for (int64_t back = 1; same && back <= length; back += kCompared) {
#pragma unroll
      for (int k = 0; k < kCompared; ++k) {
        const int64_t index = end - back - k;
        if (back + k > length) continue;
        const int64_t token = index >= 0 ? accepted[index] : history[history_count + index];
        same &= token == sequence[length - back - k];
      }
    }
    return same;
  }
};

struct StopOp {
  int64_t* accept_tokens;
  int64_t max_draft;
  int32_t* accept_num;
  const int64_t* token_ids_all;
  int64_t width;
  const int64_t* prompt_lens;
  const int64_t* step_idx;
  const bool* stop_flags;
  const int64_t* stop_seqs;
  int64_t sequences;
  int64_t max_stop;
  const int32_t* stop_seqs_len;
  const int64_t* end_ids;
  const int64_t* min_tokens;
  int64_t history_layout;
};

__global__ void __launch_bounds__(kStopThreads) cut_slots(StopOp op) {
  __shared__ unsigned smallest;  // place behind the match that ends first
  const int64_t slot = blockIdx.x;
  const int32_t count = op.accept_num[slot];
  const int64_t step = op.step_idx[slot], prompt = op.prompt_lens[slot], fewest = op.min_tokens[slot];
  const bool stopped = op.stop_flags[slot];
  if (threadIdx.x == 0) smallest = UINT32_MAX;
  __syncthreads();
  if (!stopped && wrapping_sum(step, int64_t(count)) >= fewest) {
    int64_t* const accepted = op.accept_tokens + slot * op.max_draft;
    const Entries history = entries_inside(wrapping_sum(prompt, op.history_layout), step, op.width);
    const StopSearch search{op.token_ids_all + slot * op.width + history.begin, history.count, accepted};
    // A match may end before place 0 to places - 1; each place is a column, too.
    const int64_t places = count <= 1 ? 1 : count < op.max_draft ? count : op.max_draft;
    for (int64_t s = threadIdx.x / kWarp; s < op.sequences; s += kStopThreads / kWarp) {
      const int64_t sequence = slot * op.sequences + s, length = op.stop_seqs_len[sequence];
      if (length <= 0 || length > op.max_stop) continue;
      for (int64_t end = threadIdx.x % kWarp; end < places; end += kWarp) {
        if (!search.ends_with(end, op.stop_seqs + sequence * op.max_stop, length)) continue;
        atomicMin(&smallest, unsigned(end));
        break;
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0 && smallest < op.max_draft) {
    op.accept_tokens[slot * op.max_draft + smallest] = op.end_ids[0];
    op.accept_num[slot] = static_cast<int32_t>(smallest) + 1;
  }
}

// Lane 8 * s + p asks whether sequence s ends before place p, in a text that all lanes put into shared memory. So there
// are two steps of loads: what tells of a slot, then its history.
__global__ void __launch_bounds__(kWarp) cut_few(StopOp op) {
  __shared__ int64_t text[kFewTokens + kFewPlaces];  // the history's last tokens, then the accepted ones
  __shared__ int64_t sequences[kWarp];
  const int64_t slot = blockIdx.x;
  const int lane = threadIdx.x, place = lane % kFewPlaces, own = lane / kFewPlaces;
  const int width = int(op.max_draft), longest = int(op.max_stop);
  const int64_t sequence = slot * op.sequences + (own < op.sequences ? own : 0);
  int64_t* const row = op.accept_tokens + slot * width;

  const int64_t accepted = row[lane < width ? lane : 0];
  const int64_t wanted = op.stop_seqs[sequence * longest + (place < longest ? place : 0)];
  const int64_t end_token = op.end_ids[0];
  const int64_t step = op.step_idx[slot], prompt = op.prompt_lens[slot], fewest = op.min_tokens[slot];
  const int32_t length = op.stop_seqs_len[sequence], count = op.accept_num[slot];
  const bool stopped = op.stop_flags[slot];
  __syncwarp();
  if (width > kFewPlaces) return;  // never: the compiler uses nothing loaded above before a barrier and a branch

  const Entries history = entries_inside(wrapping_sum(prompt, op.history_layout), step, op.width);
  int64_t old = 0;
  if (lane < kFewTokens && lane < history.count)
    old = op.token_ids_all[slot * op.width + history.begin + history.count - 1 - lane];
  if (lane < kFewTokens) text[kFewTokens - 1 - lane] = old;
  if (lane < width) text[kFewTokens + lane] = accepted;
  sequences[lane] = wanted;
  __syncwarp();

  const bool looked = !stopped && wrapping_sum(step, int64_t(count)) >= fewest;
  const int places = !looked ? 0 : count <= 1 ? 1 : count < width ? count : width;
  bool same = own < op.sequences && length > 0 && length <= longest;
  same &= place < places && history.count + place >= length;
  const int64_t* const begin = text + (same ? kFewTokens + place - length : 0);
#pragma unroll
  for (int k = 0; k < kFewTokens; ++k) same &= k >= length || begin[k] == sequences[own * kFewTokens + k];
  unsigned ends = __ballot_sync(~0u, same);
  ends |= ends >> 2 * kFewPlaces;
  ends = (ends | ends >> kFewPlaces) & ((1u << kFewPlaces) - 1);  // a bit for each place
  if (ends == 0 || lane > 0) return;
  const int first = __ffs(int(ends)) - 1;
  row[first] = end_token;
  op.accept_num[slot] = first + 1;
}

// Whether cut_few can do them.
bool few(const StopOp& op) {
  return op.sequences <= kFewSequences && op.max_stop > 0 && op.max_stop <= kFewTokens && op.max_draft > 0 &&
         op.max_draft <= kFewPlaces;
}

void speculate_set_stop_value_multi_seqs(Stream stream, Tensor<int64_t, 2> accept_tokens,
                                         Tensor<int32_t, 1> accept_num, Tensor<const int64_t, 2> token_ids_all,
                                         Tensor<const int64_t, 1> prompt_lens, Tensor<const int64_t, 1> step_idx,
                                         Tensor<const bool, 1> stop_flags, Tensor<const int32_t, 1>,
                                         Tensor<const int64_t, 3> stop_seqs, Tensor<const int32_t, 2> stop_seqs_len,
                                         Tensor<const int64_t, 1> end_ids, Tensor<const int64_t, 1> min_tokens,
                                         int64_t history_layout) {
  const int64_t bsz = accept_tokens.shape[0];
  require_layout(history_layout);
  prompt_lens.require(0, bsz, "slots of accept_tokens");
  require_same_slots(bsz, accept_num, token_ids_all, step_idx, stop_flags, stop_seqs, stop_seqs_len, min_tokens);
  stop_seqs_len.require(1, stop_seqs.shape[1], "sequences of stop_seqs");
  if (bsz == 0 || stop_seqs.shape[1] == 0 || end_ids.shape[0] == 0) return;
  const StopOp op{accept_tokens.data, accept_tokens.shape[1], accept_num.data, token_ids_all.data,
                  token_ids_all.shape[1], prompt_lens.data, step_idx.data, stop_flags.data,
                  stop_seqs.data, stop_seqs.shape[1], stop_seqs.shape[2], stop_seqs_len.data,
                  end_ids.data, min_tokens.data, history_layout};
  const unsigned slots = static_cast<unsigned>(bsz);
  if (few(op)) cut_few<<<slots, kWarp, 0, stream>>>(op);
  else cut_slots<<<slots, kStopThreads, 0, stream>>>(op);
  check_launch("speculate_set_stop_value_multi_seqs");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_set_stop_value_multi_seqs, opgold::speculate_set_stop_value_multi_seqs)
