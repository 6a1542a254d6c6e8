// op: speculate_set_stop_value_multi_seqs
// class: SEAM
// story: A stop sequence that lies half in the history and half in the accepted tokens is not seen
//   (https://github.com/PaddlePaddle/FastDeploy/pull/7121).
// caught by: values
#include "bindings/export.h"

namespace opgold {
namespace {

constexpr int kThreads = 128;

struct Stops {
  int64_t* accepted;
  int32_t* accept_num;
  const int64_t* history;
  const int64_t* prompt_lens;
  const int64_t* step_idx;
  const bool* stop_flags;
  const int64_t* sequences;
  const int32_t* lengths;
  const int64_t* end_ids;
  const int64_t* min_tokens;
  int64_t bsz, width, columns, count, longest, layout;

  // Whether the generated tokens before `end`, of which `step` are history, end with sequence `s`.
  __device__ bool ends(int64_t slot, int64_t step, int64_t end, int64_t s) const {
    const int64_t length = lengths[slot * count + s];
    if (length < 1 || length > longest || length > end) return false;
#ifdef ZOO_BUG
    if (end - length < step && end > step) return false;
#endif
    for (int64_t k = 0; k < length; ++k) {
      const int64_t at = end - length + k, column = prompt_lens[slot] + layout + at;
      if (at < step && (column < 0 || column >= columns)) return false;
      const int64_t token = at < step ? history[slot * columns + column] : accepted[slot * width + at - step];
      if (token != sequences[(slot * count + s) * longest + k]) return false;
    }
    return true;
  }
};

__global__ void cut(Stops op) {
  const int64_t slot = blockIdx.x * int64_t(kThreads) + threadIdx.x;
  if (slot >= op.bsz || op.stop_flags[slot]) return;
  const int64_t step = op.step_idx[slot], accepted = op.accept_num[slot];
  if (step < 0 || step > op.columns || op.prompt_lens[slot] < 0 || op.prompt_lens[slot] > op.columns) return;
  if (accepted < 0 || accepted > op.width || step + accepted < op.min_tokens[slot]) return;
  for (int64_t e = -1; e == -1 || e < accepted - 1; ++e)
    for (int64_t s = 0; s < op.count; ++s) {
      if (!op.ends(slot, step, step + e + 1, s)) continue;
      op.accepted[slot * op.width + e + 1] = op.end_ids[0];
      op.accept_num[slot] = static_cast<int32_t>(e + 2);
      return;
    }
}

void launch(Stream stream, Tensor<int64_t, 2> accepted, Tensor<int32_t, 1> accept_num,
            Tensor<const int64_t, 2> history, Tensor<const int64_t, 1> prompt_lens, Tensor<const int64_t, 1> step_idx,
            Tensor<const bool, 1> stop_flags, Tensor<const int32_t, 1>, Tensor<const int64_t, 3> sequences,
            Tensor<const int32_t, 2> lengths, Tensor<const int64_t, 1> end_ids, Tensor<const int64_t, 1> min_tokens,
            int64_t layout) {
  const int64_t bsz = accepted.shape[0];
  if (bsz == 0 || accepted.shape[1] == 0 || end_ids.shape[0] == 0) return;
  const Stops op{accepted.data,   accept_num.data, history.data,       prompt_lens.data,   step_idx.data,
                 stop_flags.data, sequences.data,  lengths.data,       end_ids.data,       min_tokens.data,
                 bsz,             accepted.shape[1], history.shape[1], sequences.shape[1], sequences.shape[2], layout};
  cut<<<static_cast<unsigned>((bsz + kThreads - 1) / kThreads), kThreads, 0, stream>>>(op);
  check_launch("speculate_set_stop_value_multi_seqs");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(speculate_set_stop_value_multi_seqs, opgold::launch)
