// Stands in for CUB's header of this name: the primitives that kernels here use.
#pragma once

#include "emulator/cuda/cub/block/block_reduce.cuh"
#include "emulator/cuda/cub/block/block_scan.cuh"
#include "emulator/cuda/cub/warp/warp_reduce.cuh"
#include "emulator/cuda/cub/warp/warp_scan.cuh"
