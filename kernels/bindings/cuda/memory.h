// Memory of a GPU and pinned memory of its host, as the arena takes them.
#pragma once

#include "bindings/cuda/status.h"

namespace opgold::cuda {

struct Memory {
  using Stream = cudaStream_t;

  static void* reserve_device(int64_t bytes) {
    void* address = nullptr;
    check(cudaMalloc(&address, static_cast<size_t>(bytes)));
    return address;
  }
  static void* reserve_host(int64_t bytes) {
    void* address = nullptr;
    check(cudaMallocHost(&address, static_cast<size_t>(bytes)));
    return address;
  }
  static void release_device(void* address) { cudaFree(address); }
  static void release_host(void* address) { cudaFreeHost(address); }

  static void fill(void* target, int value, int64_t bytes, Stream stream) {
    check(cudaMemsetAsync(target, value, static_cast<size_t>(bytes), stream));
  }
  static void send(void* target, const void* source, int64_t bytes, Stream stream) {
    check(cudaMemcpyAsync(target, source, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream));
  }
  static void fetch(void* target, const void* source, int64_t bytes, Stream stream) {
    check(cudaMemcpyAsync(target, source, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, stream));
  }
};

}  // namespace opgold::cuda
