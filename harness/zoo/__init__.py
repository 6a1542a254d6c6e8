"""The zoo: small kernels of our ops, each with a planted bug and its right twin, and which oracles tell them apart."""
