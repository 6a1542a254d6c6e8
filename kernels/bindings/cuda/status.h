// Errors of the CUDA runtime, as exceptions with the error's name and text.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace opgold::cuda {

inline std::string describe(cudaError_t status) {
  return std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status);
}

struct Failure : std::runtime_error {
  explicit Failure(cudaError_t status) : std::runtime_error(describe(status)), status(status) {}
  cudaError_t status;
};

inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw Failure(status);
}

// Whether an error outlives its call: then nothing of this process runs on the device any more.
inline bool device_lost() {
  cudaGetLastError();
  const cudaError_t status = cudaDeviceSynchronize();
  cudaGetLastError();
  return status != cudaSuccess;
}

}  // namespace opgold::cuda
