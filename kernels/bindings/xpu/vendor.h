// The vendor SDK an XPU launcher is compiled against, under names that launchers use.
#pragma once

#include <xpu/runtime.h>

#include <type_traits>

#include "bindings/abi.h"
#include "bindings/tensor.h"

namespace opgold {

using Stream = XPUStream;
using Half = float16;
using BFloat16 = bfloat16;

#ifdef OPGOLD_EMULATOR
inline constexpr int32_t device_kind = opgold_emulated;
inline int cores() { return emulator::device_cores(); }
#else
inline constexpr int32_t device_kind = opgold_xpu;
inline int cores() { return 64; }
#endif

// Throws if the launch whose status is given was refused.
inline void check_launch(const char* op, int status) {
  if (status != 0) throw ArgumentError(op, "launch refused: ", xpu_strerror(status));
}

// How many clusters the device has.
inline int clusters() {
  int device = 0;
  uint64_t count = 0;
  if (xpu_current_device(&device) != 0 || xpu_device_get_attr(&count, XPUATTR_NUM_CLUSTER, device) != 0)
    throw ArgumentError("device", "does not say how many clusters it has");
  return static_cast<int>(count);
}

// A dimension that kernels count with 32 bits.
template <class T, int Rank>
int count_of(const Tensor<T, Rank>& tensor, int axis) {
  if (tensor.shape[axis] > INT32_MAX)
    throw ArgumentError(tensor.name, "dimension ", axis, " is ", tensor.shape[axis], ", expected at most ", INT32_MAX);
  return static_cast<int>(tensor.shape[axis]);
}

// A tensor's data where only bytes are moved.
template <class T, int Rank>
auto raw_bytes(const Tensor<T, Rank>& tensor) {
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  return reinterpret_cast<Byte*>(tensor.data);
}

// A tensor's data as kernels take it: 64-bit integers are `long long` on the device.
template <class T, int Rank>
auto device_data(const Tensor<T, Rank>& tensor) {
  if constexpr (std::is_same_v<T, int64_t>) return reinterpret_cast<long long*>(tensor.data);
  else if constexpr (std::is_same_v<T, const int64_t>) return reinterpret_cast<const long long*>(tensor.data);
  else return tensor.data;
}

}  // namespace opgold
