"""opgold tests accelerator kernels against gold: a pure-NumPy golden model of every op."""

__version__ = "0.1.0"
