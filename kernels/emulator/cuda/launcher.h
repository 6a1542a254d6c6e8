// What `kernel<<<grid, block, shared, stream>>>(arguments)` is rewritten to (rewrite.py).
#pragma once

#include "emulator/common/launch.h"
#include "emulator/cuda/runtime.h"

namespace opgold::emulator {

template <class Kernel, class Address>
class Launcher : KernelLaunch<Kernel, Address> {
 public:
  Launcher(const char* name, const char* file, int line, Kernel kernel, Address address)
      : KernelLaunch<Kernel, Address>(name, file, line, kernel, address, Machine::cuda) {
#ifndef OPGOLD_CHECKED
    this->request_.watched = false;
#endif
  }

  Launcher& on(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
    this->request_.grid = {grid.x, grid.y, grid.z};
    this->request_.block = {block.x, block.y, block.z};
    this->request_.shared_bytes = shared_bytes;
    this->request_.stream = stream;
    return *this;
  }

  template <class... Arguments>
  void operator()(Arguments&&... arguments) {
    this->run(std::forward<Arguments>(arguments)...);
  }
};

}  // namespace opgold::emulator
