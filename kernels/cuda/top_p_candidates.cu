// top_p_candidates: the most probable tokens of each output row, up to a cumulated probability.
//
// A block does a row. In one pass over it every warp keeps the 32 greatest of its part, and the first warp merges
// these; more candidates take more passes, each for the 32 ranks below those found.
#include "bindings/export.h"
#include "ranking.cuh"

namespace opgold {
namespace {

constexpr int kMostThreads = 512;
constexpr int kFewestThreads = 128;
constexpr int64_t kThreadsInFlight = 1 << 18;  // what a big device holds at once
constexpr int kBoundThreads = 640;             // twice as many on a multiprocessor: 48 registers, ten blocks of 128

template <class Element>
struct Rows {
  const Element* probs;
  int64_t vocab;
  const Element* top_p;
  int64_t slots;
  const int32_t* batch_ids;
  int64_t candidates;
  Element* scores;
  int64_t* tokens;
  int32_t* lens;
};

// What the first warp tells the others after a pass.
struct Progress {
  uint64_t below;  // the last key found
  int64_t filled;  // columns written
  int64_t filler;  // the id of all others, once `done`
  bool done;
};

// Sums the keys of a pass by rank, writes its columns, and says how far the row is. The first warp does this.
struct Summing {
  float limit;
  float sum = 0;
  int64_t ranks = 0;  // that hold a probability

  template <class Element>
  __device__ Progress take(const Rows<Element>& op, int64_t row, uint64_t key, int wanted, int lane) {
    const int64_t base = ranks;
    int listed = 0;
    bool reached = false;
    for (; listed < wanted && !reached; ++listed) {
      const uint64_t next = __shfl_sync(kAllLanes, key, listed);
      if (next == 0) break;
      sum += value_of(next);
      reached = sum >= limit;
    }
    ranks += listed;
    if (lane < listed) {
      op.scores[row * op.candidates + base + lane] = op.probs[row * op.vocab + id_of(key)];
      op.tokens[row * op.candidates + base + lane] = id_of(key);
    }
    const bool done = reached || listed < wanted || ranks == op.candidates;
    if (done && lane == 0) op.lens[row] = static_cast<int32_t>(reached || limit == 1.0f ? ranks : 0);
    return {__shfl_sync(kAllLanes, key, wanted - 1), ranks, reached ? 0 : -1, done};
  }
};

template <class Element>
__global__ void __launch_bounds__(kBoundThreads, 2) rank_candidates(Rows<Element> op) {
  __shared__ uint64_t found[kMostThreads];
  __shared__ Progress progress;
  const int64_t row = blockIdx.x;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  const int64_t slot = op.batch_ids[row];
  Progress now{UINT64_MAX, 0, 0, true};
  if (slot >= 0 && slot < op.slots) {
    Summing summing{as_float(op.top_p[slot])};
    for (now.done = false; !now.done;) {
      const int64_t left = op.candidates - now.filled;
      Ranks ranks(now.below, left < kWarp ? int(left) : kWarp);
      rank_row(op.probs + row * op.vocab, op.vocab, warp, warps, lane, ranks);
      found[threadIdx.x] = ranks.key;
      __syncthreads();
      if (warp == 0) {
        for (int other = 1; other < warps; ++other) ranks.merge(found[other * kWarp + lane], lane);
        const Progress after = summing.take(op, row, ranks.key, ranks.wanted, lane);
        if (lane == 0) progress = after;
      }
      __syncthreads();
      now = progress;
    }
  } else if (threadIdx.x == 0) {
    op.lens[row] = 0;
  }
  for (int64_t column = now.filled + threadIdx.x; column < op.candidates; column += blockDim.x) {
    op.scores[row * op.candidates + column] = Element(0.0f);
    op.tokens[row * op.candidates + column] = now.filler;
  }
}

template <class Element>
void top_p_candidates(Stream stream, Tensor<const Element, 2> probs, Tensor<const Element, 1> top_p,
                      Tensor<const int32_t, 1> batch_id_per_token_output, Tensor<Element, 2> verify_scores,
                      Tensor<int64_t, 2> verify_tokens, Tensor<int32_t, 1> actual_candidate_lens,
                      int64_t candidates_len, int64_t) {
  const int64_t rows = probs.shape[0], vocab = probs.shape[1];
  if (candidates_len < 1) throw ArgumentError("candidates_len", candidates_len, ", expected at least 1");
  if (vocab > UINT32_MAX) throw ArgumentError("probs", "has ", vocab, " columns, expected fewer than 2^32");
  if (batch_id_per_token_output.shape[0] < rows)
    throw ArgumentError("batch_id_per_token_output", "has ", batch_id_per_token_output.shape[0],
                        " ids, expected at least ", rows);
  verify_scores.require(0, rows, "rows of probs");
  verify_tokens.require(0, rows, "rows of probs");
  actual_candidate_lens.require(0, rows, "rows of probs");
  verify_scores.require(1, candidates_len, "candidates_len");
  verify_tokens.require(1, candidates_len, "candidates_len");
  if (rows == 0) return;
  int threads = kFewestThreads;
  while (threads < kMostThreads && 2 * threads * rows <= kThreadsInFlight) threads *= 2;
  const Rows<Element> op{probs.data,         vocab,
                         top_p.data,         top_p.shape[0],
                         batch_id_per_token_output.data, candidates_len,
                         verify_scores.data, verify_tokens.data,
                         actual_candidate_lens.data};
  rank_candidates<<<static_cast<unsigned>(rows), threads, 0, stream>>>(op);
  check_launch("top_p_candidates");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(top_p_candidates, opgold::top_p_candidates<float>, opgold::top_p_candidates<opgold::Half>,
              opgold::top_p_candidates<opgold::BFloat16>)
