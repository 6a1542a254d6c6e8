// The part of the vendor's host interface that launchers use, and what a launch is rewritten to (rewrite.py).
#pragma once

#include "emulator/common/launch.h"
#include "emulator/xpu/floats.h"

typedef void* XPUStream;
enum XPUDeviceAttr { XPUATTR_NUM_CLUSTER = 0 };

inline int xpu_current_device(int* device) {
  *device = 0;
  return 0;
}
inline int xpu_device_get_attr(uint64_t* value, XPUDeviceAttr, int) {
  *value = static_cast<uint64_t>(::opgold::emulator::device_clusters());
  return 0;
}
inline const char* xpu_strerror(int status) { return ::opgold::emulator::error_text(status); }

// What a launcher may not do, for it could then not be captured.
#define OPGOLD_FORBIDDEN(name, ...)                                                                          \
  inline int name(__VA_ARGS__, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {           \
    return ::opgold::emulator::forbidden(#name, file, line);                                                 \
  }
enum XPUMemcpyKind { XPU_HOST_TO_DEVICE = 0, XPU_DEVICE_TO_HOST = 1, XPU_DEVICE_TO_DEVICE = 2 };
OPGOLD_FORBIDDEN(xpu_malloc, void**, uint64_t)
OPGOLD_FORBIDDEN(xpu_free, void*)
OPGOLD_FORBIDDEN(xpu_wait, XPUStream)
OPGOLD_FORBIDDEN(xpu_memcpy, void*, const void*, uint64_t, XPUMemcpyKind)
#undef OPGOLD_FORBIDDEN

namespace opgold::emulator {

template <class Kernel, class Address>
class Launcher : KernelLaunch<Kernel, Address> {
 public:
  Launcher(const char* name, const char* file, int line, Kernel kernel, Address address)
      : KernelLaunch<Kernel, Address>(name, file, line, kernel, address, Machine::xpu) {}

  Launcher& on(int clusters, int cores, XPUStream stream) {
    this->request_.grid = {static_cast<unsigned>(clusters), 1, 1};
    this->request_.block = {static_cast<unsigned>(cores), 1, 1};
    this->request_.stream = stream;
    return *this;
  }

  // 0, or why the launch was refused.
  template <class... Arguments>
  int operator()(Arguments&&... arguments) {
    this->run(std::forward<Arguments>(arguments)...);
    return last_error(true);
  }
};

}  // namespace opgold::emulator
