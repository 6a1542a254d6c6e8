// What `__shared__` declarations are rewritten to (rewrite.py).
#pragma once

#include <type_traits>
#include <utility>

#include "emulator/core/hooks.h"

namespace opgold::emulator {

// How findings name an element type: as NumPy does where NumPy has a name.
template <class T>
constexpr const char* dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  else if constexpr (std::is_same_v<T, float>) return "float32";
  else if constexpr (std::is_same_v<T, double>) return "float64";
  else if constexpr (std::is_integral_v<T>) {
    constexpr bool sign = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return sign ? "int8" : "uint8";
    else if constexpr (sizeof(T) == 2) return sign ? "int16" : "uint16";
    else if constexpr (sizeof(T) == 4) return sign ? "int32" : "uint32";
    else return sign ? "int64" : "uint64";
  } else return "struct";
}

// A race is looked for granule by granule; finer accesses refine it.
template <class T>
constexpr size_t granule_of() {
  return std::is_arithmetic_v<T> ? sizeof(T) : alignof(T);
}

template <class T, size_t... Axis>
constexpr SharedVariable shared_variable(const char* name, std::index_sequence<Axis...>) {
  using Element = std::remove_all_extents_t<T>;
  static_assert(sizeof...(Axis) <= 4, "shared arrays have at most four dimensions");
  return {name, dtype_of<Element>(), sizeof(T), alignof(T), sizeof(Element), granule_of<Element>(),
          int(sizeof...(Axis)), {int64_t(std::extent_v<T, Axis>)...}};
}

template <class T>
constexpr SharedVariable shared_variable(const char* name) {
  return shared_variable<T>(name, std::make_index_sequence<std::rank_v<T>>{});
}

template <class T>
inline __attribute__((always_inline)) T& shared_reference(SharedVariable& variable) {
  return *static_cast<T*>(shared(&variable));
}

template <class T>
inline __attribute__((always_inline)) T* dynamic_shared_pointer(const char* name) {
  return static_cast<T*>(dynamic_shared(name, dtype_of<T>(), alignof(T), sizeof(T), granule_of<T>()));
}

}  // namespace opgold::emulator

#define OPGOLD_SHARED(type, name)                                                                                   \
  static ::opgold::emulator::SharedVariable opgold_variable_##name = ::opgold::emulator::shared_variable<type>(#name); \
  type& name = ::opgold::emulator::shared_reference<type>(opgold_variable_##name)
