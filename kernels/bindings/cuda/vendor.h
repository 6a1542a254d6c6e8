// The vendor SDK a CUDA kernel unit is compiled against, under names that launchers use.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "bindings/abi.h"
#include "bindings/tensor.h"

namespace opgold {

using Stream = cudaStream_t;
using Half = __half;
using BFloat16 = __nv_bfloat16;

#ifdef OPGOLD_EMULATOR
inline constexpr int32_t device_kind = opgold_emulated;
#else
inline constexpr int32_t device_kind = opgold_cuda;
#endif

// Throws if the launch just made was refused. Makes no synchronisation, so it is lawful during capture.
inline void check_launch(const char* op) {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) throw ArgumentError(op, "launch refused: ", cudaGetErrorString(status));
}

}  // namespace opgold
