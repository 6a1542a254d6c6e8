"""The CPU emulator: the source rewriter; beside it, the core (C++) and the stand-ins for vendor headers."""
