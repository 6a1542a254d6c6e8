// op: speculate_get_seq_lens_output
// class: cheat: work on another stream
// story: The launcher's own stream does not wait for the caller's, on which the inputs are still being made.
// caught by: race
#define ZOO_JOINS
#ifndef ZOO_BUG
#define ZOO_FORKS
#endif
#include "own_stream.cuh"
