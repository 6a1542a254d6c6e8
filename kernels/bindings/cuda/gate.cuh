// The gate: a kernel that holds a stream back while an entry enqueues its work. Work that does not wait for the stream
// it was given runs meanwhile, on junk, and its results are overwritten: it shows as wrong values every time.
#pragma once

#include <atomic>

#include "bindings/cuda/status.h"

namespace opgold::cuda {

constexpr long long gate_limit_cycles = 400'000;  // it opens by itself then, should the entry wait for the device
constexpr long long gate_linger_cycles = 20'000;  // for work that has just been launched elsewhere to begin

static __global__ void hold(const volatile int* opened) {
  const long long start = clock64();
  while (!*opened && clock64() - start < gate_limit_cycles) __nanosleep(200);
  const long long linger = clock64();
  while (*opened && clock64() - linger < gate_linger_cycles) __nanosleep(200);
}

class Gate {
 public:
  void close(cudaStream_t stream) {
    if (!opened_) check(cudaHostAlloc(&opened_, sizeof *opened_, cudaHostAllocMapped));
    opened_->store(0);
    int* seen = nullptr;
    check(cudaHostGetDevicePointer(&seen, opened_, 0));
    hold<<<1, 1, 0, stream>>>(seen);
    check(cudaGetLastError());
  }
  void open() { opened_->store(1); }

 private:
  std::atomic<int>* opened_ = nullptr;
};

}  // namespace opgold::cuda
