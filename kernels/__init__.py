"""Compiled kernels: their sources, the emulator that runs them on a CPU, and what builds, loads and calls them."""
