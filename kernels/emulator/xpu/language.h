// Qualifiers, address spaces and index functions of XPU device code. On a CPU all memories share one address space.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emulator/common/shared_variable.h"
#include "emulator/core/hooks.h"

#define __global__
#define __device__
#define __host__
#define __global_ptr__
#define _global_ptr_
#define __shared_ptr__
#define _shared_ptr_
#define _group_shared_ptr_
#define __local__
#define __simd__ __attribute__((aligned(64)))

#define OPGOLD_GROUP_SHARED(type, name)                                                                              \
  static ::opgold::emulator::GroupVariable opgold_variable_##name = ::opgold::emulator::group_variable<type>(#name); \
  type& name = *static_cast<type*>(::opgold::emulator::group_shared(&opgold_variable_##name))

namespace opgold::emulator {

template <class T>
GroupVariable group_variable(const char* name) {
  GroupVariable variable;
  for (SharedVariable& group : variable.of) group = shared_variable<T>(name);
  return variable;
}

}  // namespace opgold::emulator

// The device's traits, under the name that device code uses.
namespace xpu_std {
using std::conditional;
using std::enable_if;
using std::is_same;
using std::remove_const;
}  // namespace xpu_std

inline int core_id() { return static_cast<int>(::opgold::emulator::thread_index().x); }
inline int core_num() { return static_cast<int>(::opgold::emulator::block_extent().x); }
inline int cluster_id() { return static_cast<int>(::opgold::emulator::block_index().x); }
inline int cluster_num() { return static_cast<int>(::opgold::emulator::grid_extent().x); }

inline void mfence() { ::opgold::emulator::fence(::opgold::emulator::Fence::all); }
inline void mfence_lm() { ::opgold::emulator::fence(::opgold::emulator::Fence::local); }
inline void mfence_sm() { ::opgold::emulator::fence(::opgold::emulator::Fence::shared); }

inline void sync_cluster(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  ::opgold::emulator::cluster_barrier("sync_cluster", file, line);
}
inline void sync_all(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  ::opgold::emulator::cluster_barrier("sync_all", file, line);
}
