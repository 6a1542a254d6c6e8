"""Gates: coverage of kernels and golden models by the cases, and a change held to it."""
