"""`opgold mutate`: faulty variants of kernels and golden models, and whether the cases catch them. docs/mutation.md."""
