"""Cases: how inputs of each op are drawn, and past bugs as files. One strategy module an op, named for the op."""
