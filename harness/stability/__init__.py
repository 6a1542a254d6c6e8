"""Do a step's buffers stay where and what they are, as a captured graph needs them? On Paddle tensors.

    steady = Stability(batch, ["ids", "lengths"], lengths_vary=["ids"], tails={"ids": -1})
    step = steady.wrap(step)
    ...                     # calls of step
    steady.require()        # raises Unstable with all that was seen

`batch` is a mapping or an object; each buffer is looked up in it, by name, after every call. What is looked for:

| kind | reported when |
|---|---|
| object | the name stands for another tensor: a fresh one, or a view of the buffer |
| storage | the buffer's memory was replaced, as `copy_` of more than it holds does, silently |
| address | the buffer begins elsewhere |
| shape, dtype | they are others; the first extent of those in `lengths_vary` may be any within the memory |
| tail | behind a buffer's extent stands something else than `tails` says |
| capacity | within a call, `copy_` of more than the buffer's memory, or the view that it goes to, holds |
| lost | a write that was declared (`expect_write`) is not there |
| alias | two names that stood for one tensor (`aliases`) no longer do |
| distinct | two names (`distinct`) share memory |
| pair | arrays that follow from lengths (`packings`) do not |
| memory | allocated memory grows from call to call |
| peak | within a call more memory was allocated, on top of what was, than `peak` says |
| replay | what a graph captured (`capture`) is not what the name stands for when it is replayed (`replay`) |
"""

from opgold.harness.stability.watch import Report, Stability, Unstable

__all__ = ["Report", "Stability", "Unstable"]
