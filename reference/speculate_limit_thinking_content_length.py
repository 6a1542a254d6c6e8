"""Limits on how long a slot thinks and replies, held by replacing accepted tokens."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32, Int64
from numpy import ndarray

from opgold.reference._contract import require
from opgold.reference.schema import In, InOut


def speculate_limit_thinking_content_length(
    next_tokens: InOut[Int64[ndarray, "bsz max_draft"]],
    max_think_lens: In[Int32[ndarray, "bsz"]],
    max_reply_lens: InOut[Int32[ndarray, "bsz"]],
    step_idx: InOut[Int64[ndarray, "bsz"]],
    limit_status: InOut[Int32[ndarray, "bsz"]],
    accept_num: InOut[Int32[ndarray, "bsz"]],
    stop_flags: In[Bool[ndarray, "bsz"]],
    eos_token_ids: In[Int64[ndarray, "end_tokens"]],
    inject_token_ids: In[Int64[ndarray, "items"]],
    *,
    think_end_id: int,
    splitwise_role_is_decode: bool,
    hit_at_limit: bool = False,
) -> None:
    """Walk each slot's accepted tokens, k = 0, 1, ...; `step_idx` has counted them already. Lengths are in tokens.

    Status: 0 thinking, 1 to I about to inject that item (I items), I+1 done, I+2 and more replying, that many tokens so
    far; a negative one is 0. Stopped slots, slots without tokens and slots whose two limits are both negative (off) are
    skipped. For token k:
    1. While thinking: `think_end_id` means done and adds 2 to a reply limit >= 0. Else, under a think limit: limit 0
    means status 1 at once, or 2 on a decode node; a limit hit, or else an end token where I > 0, means status 1.
    Hit: step - 1 == limit, or with `hit_at_limit` step == limit, where step is `step_idx - accept_num + k + 1`.
    2. Under a think limit, status 1 to I: the token becomes that item, the status grows, the walk ends here.
    3. Under a reply limit, done or more, unless it became done by this token: with `limit` tokens replied the token
    becomes `eos_token_ids[0]` (kept where there is none), the status I+2+limit, and the walk ends here; else the status
    counts one more.
    Where the walk ends early `accept_num` and `step_idx` lose the tokens behind, whose values stay.

    Raises ValueError for walked slots: `accept_num` past the row, `step_idx` below it, a reply limit whose status
    would pass int32. Source: v3 of the op; the hit rule of its other versions is the attribute.
    """
    done = len(inject_token_ids) + 1
    base, width = done + 1, next_tokens.shape[1]
    walked = (accept_num > 0) & ~stop_flags & ((max_think_lens >= 0) | (max_reply_lens >= 0))
    require(~walked | (accept_num <= width), "accept_num", accept_num, f"at most the {width} columns of next_tokens")
    require(~walked | (step_idx >= accept_num), "step_idx", step_idx, "at least accept_num, which it has counted")
    most = 2**31 - 3 - base
    require(~walked | (max_reply_lens <= most), "max_reply_lens", max_reply_lens, f"at most {most}")

    for b in np.flatnonzero(walked):
        think, reply, status = int(max_think_lens[b]), int(max_reply_lens[b]), max(0, int(limit_status[b]))
        count = int(accept_num[b])
        for k in range(count):
            token, before, ends = next_tokens[b, k], status, False
            step = int(step_idx[b]) - count + k + 1
            if status == 0 and token == think_end_id:
                status = done
                reply += 2 if reply >= 0 else 0
            elif status == 0 and think == 0:
                status = 2 if splitwise_role_is_decode else 1
            elif (
                status == 0
                and think > 0
                and (step - (not hit_at_limit) == think or (done > 1 and token in eos_token_ids))
            ):
                status = 1
            if think >= 0 and 1 <= status < done:
                next_tokens[b, k] = inject_token_ids[status - 1]
                status, ends = status + 1, True
            if reply >= 0 and status >= done and not (status == done != before):
                used = max(status, base) - base
                status, ends = base + min(used + 1, reply), used >= reply
                if ends and len(eos_token_ids):
                    next_tokens[b, k] = eos_token_ids[0]
            if ends:
                accept_num[b] = k + 1
                step_idx[b] -= count - k - 1
                break
        max_reply_lens[b], limit_status[b] = reply, status
