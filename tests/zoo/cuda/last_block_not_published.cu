// op: speculate_get_seq_lens_output
// class: RACE
// story: The last block to come puts prompts right in what all blocks have written; no fence stands between their stores
//   and the counter that says so (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#memory-fence-functions).
// caught by: race
#ifdef ZOO_BUG
#define ZOO_RELEASE()
#else
#define ZOO_RELEASE() __threadfence()
#endif
#define ZOO_ACQUIRE() __threadfence()
#include "last_block.cuh"
