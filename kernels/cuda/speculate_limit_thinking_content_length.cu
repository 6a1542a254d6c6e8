// speculate_limit_thinking_content_length: limits on thinking and reply, held by replacing accepted tokens.
//
// A few lanes do a slot, a token each. Where the slot's text changes phase follows from where its first end tokens are
// and from lengths, so that nothing walks from token to token.
#include "bindings/export.h"
#include "history.cuh"

namespace opgold {
namespace {

constexpr int kLimitThreads = 128;
constexpr int kLanes = 8;  // that do a slot
constexpr int kSlotsPerBlock = kLimitThreads / kLanes;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr unsigned kNone = UINT32_MAX;

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
};

// What a slot's tokens come to.
struct Verdict {
  int64_t status;
  int64_t reply;
  unsigned place = kNone;  // of the token that is replaced, behind which nothing is kept; kNone: all tokens are
  bool injects = false;    // an item of inject_token_ids goes there; else an end token
  int64_t item = 0;

  // `thinks` and `texts` are the first of `count` tokens that ends thinking and the first that ends the text, or kNone.
  // `hit` is the place at which the limit on thinking is met, wherever that is.
  __device__ Verdict(const Limits& op, int64_t given_status, int64_t think, int64_t given_reply, unsigned count,
                     unsigned thinks, unsigned texts, uint64_t hit)
      : status(given_status > 0 ? given_status : 0), reply(given_reply) {
    const int64_t done = op.items + 1, base = op.items + 2;
    unsigned at = 0, from = 0;  // where an item would go, and the first token that counts as reply
    if (status == 0) {
      const unsigned met = hit < count ? unsigned(hit) : kNone, text = op.items > 0 ? texts : kNone;
      const unsigned over = think == 0 ? 0u : think < 0 ? kNone : met < text ? met : text;
      if (thinks != kNone && thinks <= over) {
        status = done;
        reply = reply >= 0 ? reply + 2 : reply;
        from = thinks + 1;
      } else if (over < count) {
        status = think == 0 && op.decode_node ? 2 : 1;
        at = over;
        from = over + (status == done ? 1 : 0);
      }
    }
    const int64_t used = status > base ? status - base : 0;
    const uint64_t left = used < reply ? uint64_t(reply - used) : 0;
    injects = count > 0 && think >= 0 && status >= 1 && status <= op.items;
    if (injects) {
      place = at;
      item = status - 1;
      ++status;
    } else if (reply >= 0 && status >= done && from < count) {
      if (left < count - from) {
        place = from + unsigned(left);
        status = base + reply;
      } else {
        status = base + used + (count - from);
      }
    }
  }
};

// kShort: lanes hold all tokens of a row, all end tokens and all items.
template <bool kShort>
__global__ void __launch_bounds__(kLimitThreads) limit_slots(Limits op) {
  const int warp_lane = threadIdx.x % kWarp, lane = threadIdx.x % kLanes;
  const int64_t slot = blockIdx.x * int64_t(kSlotsPerBlock) + threadIdx.x / kLanes;
  if (slot - warp_lane / kLanes >= op.bsz) return;  // a whole warp: in others all lanes take part in what warps do
  const int64_t at = slot < op.bsz ? slot : op.bsz - 1;  // of this warp, too
  int64_t* const row = op.next_tokens + at * op.width;

  // All that a slot may need, asked for at once.
  int64_t token = lane < op.width ? row[lane] : 0;
  const int64_t end = warp_lane < op.end_count ? op.eos_token_ids[warp_lane] : 0;
  const int64_t injected = warp_lane < op.items ? op.inject_token_ids[warp_lane] : 0;
  const int64_t step = op.step_idx[at];
  const int32_t accepted = op.accept_num[at], status = op.limit_status[at];
  const int32_t think = op.max_think_lens[at], reply = op.max_reply_lens[at];
  const bool stopped = op.stop_flags[at];
  __syncwarp();  // every lane has read what the first one writes

  const bool limited = slot < op.bsz && accepted > 0 && !stopped && (think >= 0 || reply >= 0);
  const unsigned count = !limited ? 0 : accepted < op.width ? unsigned(accepted) : unsigned(op.width);
  const auto first_of = [&](bool is) {  // the slot's first lane for which it is so, or kNone
    const unsigned lanes = __ballot_sync(kAllLanes, is) >> (warp_lane - lane) & ((1u << kLanes) - 1);
    return lanes ? unsigned(__ffs(int(lanes)) - 1) : kNone;
  };
  unsigned thinks = kNone, texts = kNone;
  for (uint64_t begin = 0;;) {
    bool ends = false;
    for (int i = 0; i < kWarp && i < op.end_count; ++i) ends |= __shfl_sync(kAllLanes, end, i) == token;
    if (!kShort)
      for (int64_t i = kWarp; i < op.end_count; ++i) ends |= op.eos_token_ids[i] == token;
    const bool here = begin + lane < count;
    const unsigned think_end = first_of(here && token == op.think_end_id), text_end = first_of(here && ends);
    if (thinks == kNone && think_end != kNone) thinks = unsigned(begin) + think_end;
    if (texts == kNone && text_end != kNone) texts = unsigned(begin) + text_end;
    begin += kLanes;
    if (kShort || !__any_sync(kAllLanes, begin < count)) break;
    token = begin + lane < count ? row[begin + lane] : 0;
  }

  const int64_t before = wrapping_difference(step, int64_t(accepted));
  const uint64_t hit = uint64_t(int64_t(think)) - uint64_t(before) - (op.hit_at_limit ? 1 : 0);
  const Verdict is(op, status, think, reply, count, thinks, texts, hit);
  const int64_t item = __shfl_sync(kAllLanes, injected, int(is.item % kWarp)), last = __shfl_sync(kAllLanes, end, 0);
  int64_t replacement = is.injects ? item : last;
  if (!kShort && is.injects && is.item >= kWarp) replacement = op.inject_token_ids[is.item];
  __syncwarp();  // every lane has read the tokens of which the first one replaces one
  if (!limited || lane > 0) return;
  const int64_t kept = is.place == kNone ? int64_t(accepted) : int64_t(is.place) + 1;
  if (is.place != kNone && (is.injects || op.end_count > 0)) row[is.place] = replacement;
  op.max_reply_lens[at] = static_cast<int32_t>(is.reply);
  op.limit_status[at] = static_cast<int32_t>(is.status);
  op.accept_num[at] = static_cast<int32_t>(kept);
  op.step_idx[at] = wrapping_difference(step, accepted - kept);
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
  const unsigned blocks = static_cast<unsigned>((bsz + kSlotsPerBlock - 1) / kSlotsPerBlock);
  if (op.width <= kLanes && op.end_count <= kWarp && op.items <= kWarp)
    limit_slots<true><<<blocks, kLimitThreads, 0, stream>>>(op);
  else
    limit_slots<false><<<blocks, kLimitThreads, 0, stream>>>(op);
  check_launch("speculate_limit_thinking_content_length");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_limit_thinking_content_length, opgold::speculate_limit_thinking_content_length)
