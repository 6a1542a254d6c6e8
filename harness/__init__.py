"""The harness: runs golden models and kernels on the same cases and reports every way in which they part company."""
