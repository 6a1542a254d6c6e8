"""Golden models of the Python around the ops: sizes of graphs, padding, buffers, slots, seeds, insertion.

They are no ops: they have no kernels and no cases, and their arguments are Python's. Each names the section of the
contract of FastDeploy's Python glue that it states. `opgold.harness.glue` holds FastDeploy's own Python to them.
"""
