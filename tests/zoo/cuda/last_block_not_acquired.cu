// op: speculate_get_seq_lens_output
// class: RACE
// story: The last block to come knows by the counter that all have written, and reads with no fence between: its loads
//   may have been made before (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#memory-fence-functions).
// caught by: race
#define ZOO_RELEASE() __threadfence()
#ifdef ZOO_BUG
#define ZOO_ACQUIRE()
#else
#define ZOO_ACQUIRE() __threadfence()
#endif
#include "last_block.cuh"
