// Accesses that an annotation answers for, and those that it does not reach.
#include "bindings/annotations.h"
#include "planted.h"

namespace {

__global__ void same_value(const int32_t* x, int32_t* y, int n, int bug) {
  OPGOLD_SAME_VALUE("all threads agree that there is work");
  y[0] = bug ? x[threadIdx.x] % 2 : 1;  // planted same_value
}

__global__ void same_value_of_blocks(const int32_t* x, int32_t* y, int n, int bug) {
  OPGOLD_SAME_VALUE("all blocks fill alike");
  y[threadIdx.x] = bug ? int(blockIdx.x) : x[threadIdx.x];  // planted same_value_of_blocks
}

// Only half of a word is written alike.
__global__ void same_bytes(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int2 pair;
  {
    OPGOLD_SAME_VALUE("the halves agree");
    pair = make_int2(5, bug ? x[threadIdx.x] : 6);  // planted same_bytes
  }
  __syncthreads();
  y[threadIdx.x] = pair.x + pair.y;
}

// The annotation ends with its scope.
__global__ void past_the_scope(const int32_t* x, int32_t* y, int n, int bug) {
  {
    OPGOLD_SAME_VALUE("all threads agree");
    y[0] = 1;
  }
  if (bug) y[1] = 1;  // planted past_the_scope
}

// The other write is not annotated.
__global__ void one_side(const int32_t* x, int32_t* y, int n, int bug) {
  if (threadIdx.x == 0) {
    OPGOLD_SAME_VALUE("as the other one");
    y[0] = 1;
  } else if (threadIdx.x == 1) {
    if (bug) {
      y[0] = 1;  // planted one_side
    } else {
      OPGOLD_SAME_VALUE("as the first one");
      y[0] = 1;
    }
  }
}

// Who reads meanwhile may see the old value.
__global__ void read_meanwhile(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t flag;
  {
    OPGOLD_SAME_VALUE("all threads agree");
    flag = 1;
  }
  if (!bug) __syncthreads();
  y[threadIdx.x] = flag;  // planted read_meanwhile
}

// A store is compared before its thread waits.
__global__ void waits_inside(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t flag;
  OPGOLD_SAME_VALUE("all threads agree");
  flag = bug ? x[threadIdx.x] : 1;  // planted waits_inside
  __syncthreads();
  const int32_t seen = flag;
  __syncthreads();
  if (threadIdx.x == 0) flag = 9;
  y[threadIdx.x] = seen;
}

__global__ void ordered(const int32_t* x, int32_t* y, int n, int bug) {
  __shared__ int32_t tile[32];
  tile[threadIdx.x] = x[threadIdx.x];
  __any_sync(0xffffffffu, 1);  // in the place of an instruction that the emulator does not know
  if (bug) {
    y[threadIdx.x] = tile[31 - threadIdx.x];  // planted ordered
  } else {
    OPGOLD_ORDERED("the instruction above orders memory");
    y[threadIdx.x] = tile[31 - threadIdx.x];
  }
}

__global__ void without_effect(const int32_t* x, int32_t* y, int n, int bug) {
  OPGOLD_SAME_VALUE("never needed");
  y[threadIdx.x] = x[threadIdx.x];
}

}  // namespace

PLANTED(same_value, 2, 32, 0)
PLANTED(same_value_of_blocks, 2, 64, 0)
PLANTED(same_bytes, 1, 64, 0)
PLANTED(past_the_scope, 1, 64, 0)
PLANTED(one_side, 1, 64, 0)
PLANTED(read_meanwhile, 1, 64, 0)
PLANTED(waits_inside, 1, 64, 0)
PLANTED(ordered, 1, 32, 0)
PLANTED(without_effect, 1, 64, 0)
