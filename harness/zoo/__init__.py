"""The zoo: small kernels of our ops, each with one planted bug and its right twin, and which oracles tell them apart."""
