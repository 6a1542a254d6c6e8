"""Checks of the Python around the ops: FastDeploy's own, or any that does its work. docs/glue.md says how to use them.

Each takes a callable or a batch, of Paddle tensors or NumPy arrays, and returns a list of departures from the golden
models of `opgold.reference.glue`; `require` raises if there is any.
"""

from opgold.harness.glue.departure import Departed, Departure, require

__all__ = ["Departed", "Departure", "require"]
