// speculate_limit_thinking_content_length: limits on thinking and reply, held by replacing accepted tokens.
//
// A warp does a slot: a lane holds a token and what it is, and all lanes walk the same way through what they hold.
#include "bindings/export.h"
#include "history.cuh"

namespace opgold {
namespace {

constexpr int kWalkThreads = 128;
constexpr int kWalksPerBlock = kWalkThreads / kWarp;
constexpr unsigned kAllLanes = 0xffffffffu;

struct Limits {
  int64_t* next_tokens;
  int64_t width;
  const int32_t* max_think_lens;
  int32_t* max_reply_lens;
  int64_t* step_idx;
  int32_t* limit_status;
  int32_t* accept_num;
  const bool* stop_flags;
  int64_t bsz;
  const int64_t* eos_token_ids;
  int64_t end_count;
  const int64_t* inject_token_ids;
  int64_t items;
  int64_t think_end_id;
  bool decode_node;
  bool hit_at_limit;

  __device__ bool is_end(int64_t token) const {
    bool found = false;
    for (int64_t i = 0; i < end_count; ++i) found |= eos_token_ids[i] == token;
    return found;
  }
};

// What a slot's walk carries from token to token.
struct Walk {
  int64_t think;
  int64_t reply;
  int64_t status;

  // Takes one token in `step`; true if the walk ends with it, `written` set if the token becomes `replacement`.
  __device__ bool take(const Limits& op, int64_t step, bool ends_thinking, bool ends_text, bool& written,
                       int64_t& replacement) {
    const int64_t done = op.items + 1, base = op.items + 2, before = status;
    if (status == 0) {
      if (ends_thinking) {
        status = done;
        if (reply >= 0) reply += 2;
      } else if (think == 0) {
        status = op.decode_node ? 2 : 1;
      } else if (think > 0 && ((op.hit_at_limit ? step : step - 1) == think || (ends_text && op.items > 0))) {
        status = 1;
      }
    }
    bool ends = false;
    if (think >= 0 && status >= 1 && status <= op.items) {
      written = ends = true;
      replacement = op.inject_token_ids[status - 1];
      ++status;
    }
    if (reply >= 0 && status >= done && (status != done || before == done)) {
      const int64_t used = status > base ? status - base : 0;
      if (used >= reply) {
        ends = true;
        status = base + reply;
        if (op.end_count > 0) {
          written = true;
          replacement = op.eos_token_ids[0];
        }
      } else {
        status = base + used + 1;
      }
    }
    return ends;
  }
};

__global__ void __launch_bounds__(kWalkThreads) walk_slots(Limits op) {
  const int64_t slot = blockIdx.x * int64_t(kWalksPerBlock) + threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  if (slot >= op.bsz) return;
  int64_t* const row = op.next_tokens + slot * op.width;
  int64_t token = lane < op.width ? row[lane] : 0;  // asked for before it is known to be accepted
  const int32_t accepted = op.accept_num[slot], status = op.limit_status[slot];
  const int64_t step = op.step_idx[slot];
  Walk walk{op.max_think_lens[slot], op.max_reply_lens[slot], status > 0 ? status : 0};
  if (accepted <= 0 || op.stop_flags[slot] || (walk.think < 0 && walk.reply < 0)) return;

  const int64_t count = accepted < op.width ? accepted : op.width;
  const int64_t first = wrapping_difference(step, int64_t(accepted));
  int64_t kept = accepted;
  bool ended = false;
  for (int64_t begin = 0; begin < count && !ended; begin += kWarp) {
    if (begin > 0) token = begin + lane < count ? row[begin + lane] : 0;
    const unsigned think_ends = __ballot_sync(kAllLanes, token == op.think_end_id);
    const unsigned text_ends = __ballot_sync(kAllLanes, op.is_end(token));
    const int here = count - begin < kWarp ? int(count - begin) : kWarp;
    for (int k = 0; k < here && !ended; ++k) {
      bool written = false;
      int64_t replacement = 0;
      const int64_t now = wrapping_sum(first, begin + k + 1);
      ended = walk.take(op, now, think_ends >> k & 1u, text_ends >> k & 1u, written, replacement);
      if (written && lane == k) row[begin + k] = replacement;
      if (ended) kept = begin + k + 1;
    }
  }
  __syncwarp();  // every lane has read what lane 0 writes
  if (lane == 0) {
    op.max_reply_lens[slot] = static_cast<int32_t>(walk.reply);
    op.limit_status[slot] = static_cast<int32_t>(walk.status);
    op.accept_num[slot] = static_cast<int32_t>(kept);
    op.step_idx[slot] = wrapping_difference(step, accepted - kept);
  }
}

void speculate_limit_thinking_content_length(
    Stream stream, Tensor<int64_t, 2> next_tokens, Tensor<const int32_t, 1> max_think_lens,
    Tensor<int32_t, 1> max_reply_lens, Tensor<int64_t, 1> step_idx, Tensor<int32_t, 1> limit_status,
    Tensor<int32_t, 1> accept_num, Tensor<const bool, 1> stop_flags, Tensor<const int64_t, 1> eos_token_ids,
    Tensor<const int64_t, 1> inject_token_ids, int64_t think_end_id, bool splitwise_role_is_decode, bool hit_at_limit) {
  const int64_t bsz = next_tokens.shape[0];
  max_think_lens.require(0, bsz, "slots of next_tokens");
  max_reply_lens.require(0, bsz, "slots of next_tokens");
  step_idx.require(0, bsz, "slots of next_tokens");
  limit_status.require(0, bsz, "slots of next_tokens");
  accept_num.require(0, bsz, "slots of next_tokens");
  stop_flags.require(0, bsz, "slots of next_tokens");
  if (bsz == 0) return;
  const Limits op{next_tokens.data,       next_tokens.shape[1],      max_think_lens.data,
                  max_reply_lens.data,    step_idx.data,             limit_status.data,
                  accept_num.data,        stop_flags.data,           bsz,
                  eos_token_ids.data,     eos_token_ids.shape[0],    inject_token_ids.data,
                  inject_token_ids.shape[0], think_end_id,           splitwise_role_is_decode,
                  hit_at_limit};
  const int64_t blocks = (bsz + kWalksPerBlock - 1) / kWalksPerBlock;
  walk_slots<<<static_cast<unsigned>(blocks), kWalkThreads, 0, stream>>>(op);
  check_launch("speculate_limit_thinking_content_length");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_limit_thinking_content_length, opgold::speculate_limit_thinking_content_length)
