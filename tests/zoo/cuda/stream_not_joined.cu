// op: speculate_get_seq_lens_output
// class: cheat: work on another stream
// story: The launcher forks onto a stream of its own, and does not make the caller's wait for it
//   (https://github.com/ScalingIntelligence/KernelBench/pull/82).
// caught by: race
#define ZOO_FORKS
#ifndef ZOO_BUG
#define ZOO_JOINS
#endif
#include "own_stream.cuh"
