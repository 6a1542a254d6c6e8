// OPGOLD_EXPORT(op, launcher, ...) makes the C entry `opgold_op_<op>` of an op.
//
// A launcher is `void op(Stream, Tensor<...>..., attributes...)`: tensors first, in the golden model's order, then
// attributes (int64_t, int32_t, bool, double), in the golden model's order. With several launchers, the first whose element types fit
// is called. The entry checks count, presence, dtype, rank, contiguity, device and writability of every argument.
#pragma once

#include <cstdio>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "bindings/abi.h"
#include "bindings/device.h"
#include "bindings/tensor.h"

namespace opgold {

template <class T>
struct DtypeOf;
template <> struct DtypeOf<bool> { static constexpr int32_t value = opgold_bool; };
template <> struct DtypeOf<uint8_t> { static constexpr int32_t value = opgold_uint8; };
template <> struct DtypeOf<int32_t> { static constexpr int32_t value = opgold_int32; };
template <> struct DtypeOf<int64_t> { static constexpr int32_t value = opgold_int64; };
template <> struct DtypeOf<float> { static constexpr int32_t value = opgold_float32; };
template <> struct DtypeOf<double> { static constexpr int32_t value = opgold_float64; };
template <> struct DtypeOf<Half> { static constexpr int32_t value = opgold_float16; };
template <> struct DtypeOf<BFloat16> { static constexpr int32_t value = opgold_bfloat16; };

inline const char* dtype_name(int32_t dtype) {
  static const char* const names[] = {"?",       "bool",     "uint8",   "int32",  "int64",
                                      "float16", "bfloat16", "float32", "float64"};
  return dtype >= 1 && dtype <= 8 ? names[dtype] : names[0];
}

// The arguments of one call, taken in order.
struct Call {
  void* stream;
  const opgold_tensor* tensors;
  int32_t tensor_count;
  const opgold_attribute* attributes;
  int32_t attribute_count;
};

// Throws unless a tensor is what a launcher takes.
inline void require_fit(const opgold_tensor& given, int32_t dtype, int rank, bool writes) {
  if (given.rank == opgold_absent) throw ArgumentError(given.name, "is required");
  if (given.dtype != dtype)
    throw ArgumentError(given.name, "is ", dtype_name(given.dtype), ", expected ", dtype_name(dtype));
  if (given.rank != rank) throw ArgumentError(given.name, "has ", given.rank, " dimensions, expected ", rank);
  if (!(given.flags & opgold_contiguous)) throw ArgumentError(given.name, "is not contiguous");
  if (given.device != device_kind)
    throw ArgumentError(given.name, "lies on device kind ", given.device, ", expected ", int(device_kind));
  if (writes && !(given.flags & opgold_writes)) throw ArgumentError(given.name, "is not writable");
  for (int axis = 0; axis < rank; ++axis)
    if (given.shape[axis] < 0) throw ArgumentError(given.name, "dimension ", axis, " is ", given.shape[axis]);
}

// How one launcher parameter is read from a call.
template <class T>
struct Parameter;

template <class T, int Rank>
struct Parameter<Tensor<T, Rank>> {
  static constexpr bool is_tensor = true;
  static bool dtype_fits(const opgold_tensor& given) {
    return given.dtype == DtypeOf<std::remove_const_t<T>>::value;
  }
  static Tensor<T, Rank> read(const opgold_tensor& given) {
    require_fit(given, DtypeOf<std::remove_const_t<T>>::value, Rank, !std::is_const_v<T>);
    Tensor<T, Rank> view;
    view.data = static_cast<T*>(given.data);
    for (int axis = 0; axis < Rank; ++axis) view.shape[axis] = given.shape[axis];
    view.name = given.name;
    return view;
  }
};

template <class T, int Rank>
struct Parameter<Optional<Tensor<T, Rank>>> {
  static constexpr bool is_tensor = true;
  static bool dtype_fits(const opgold_tensor& given) {
    return given.rank == opgold_absent || Parameter<Tensor<T, Rank>>::dtype_fits(given);
  }
  static Optional<Tensor<T, Rank>> read(const opgold_tensor& given) {
    Optional<Tensor<T, Rank>> view;
    view.name = given.name;
    if (given.rank == opgold_absent) return view;
    static_cast<Tensor<T, Rank>&>(view) = Parameter<Tensor<T, Rank>>::read(given);
    view.given = true;
    return view;
  }
};

template <class T>
struct Attribute {
  static constexpr bool is_tensor = false;
  static T read(const opgold_attribute& given) {
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(given.is_real ? given.real : given.integer);
    if (given.is_real) {
      char real[32];
      std::snprintf(real, sizeof real, "%g", given.real);
      throw ArgumentError(given.name, "is ", real, ", expected an integer");
    }
    const T value = static_cast<T>(given.integer);
    if (static_cast<int64_t>(value) != given.integer)
      throw ArgumentError(given.name, "is ", given.integer, ", which its type does not hold");
    return value;
  }
};
template <> struct Parameter<bool> : Attribute<bool> {};
template <> struct Parameter<int32_t> : Attribute<int32_t> {};
template <> struct Parameter<int64_t> : Attribute<int64_t> {};
template <> struct Parameter<double> : Attribute<double> {};

template <class... Parameters>
struct Signature {
  static constexpr int tensor_count = (int(Parameter<Parameters>::is_tensor) + ... + 0);
  static constexpr int attribute_count = int(sizeof...(Parameters)) - tensor_count;
  using Indices = std::index_sequence_for<Parameters...>;

  template <class T, size_t I>
  static bool dtype_fits(const Call& call) {
    if constexpr (Parameter<T>::is_tensor) return Parameter<T>::dtype_fits(call.tensors[I]);
    else return true;
  }
  template <class T, size_t I>
  static T read(const Call& call) {
    if constexpr (Parameter<T>::is_tensor) return Parameter<T>::read(call.tensors[I]);
    else return Parameter<T>::read(call.attributes[I - tensor_count]);
  }
  template <size_t... I>
  static bool fits(const Call& call, std::index_sequence<I...>) {
    return call.tensor_count == tensor_count && (dtype_fits<Parameters, I>(call) && ...);
  }
  template <size_t... I>
  static void run(const Call& call, void (*launcher)(Stream, Parameters...), std::index_sequence<I...>) {
    if (call.tensor_count != tensor_count || call.attribute_count != attribute_count)
      throw ArgumentError("call", call.tensor_count, " tensors and ", call.attribute_count, " attributes, expected ",
                          int(tensor_count), " and ", int(attribute_count));
    std::tuple<Parameters...> arguments{read<Parameters, I>(call)...};
    launcher(static_cast<Stream>(call.stream), std::get<I>(arguments)...);
  }
};

template <class... Parameters>
bool call_if_fits(const Call& call, void (*launcher)(Stream, Parameters...), bool force) {
  using S = Signature<Parameters...>;
  if (!force && !S::fits(call, typename S::Indices{})) return false;
  S::run(call, launcher, typename S::Indices{});
  return true;
}

// The first launcher that fits; the last one reports when none does.
template <class Launcher, class... Rest>
void call_first(const Call& call, Launcher launcher, Rest... rest) {
  if (call_if_fits(call, launcher, sizeof...(rest) == 0)) return;
  if constexpr (sizeof...(rest) > 0) call_first(call, rest...);
}

template <class... Launchers>
int enter(const Call& call, char* message, int64_t message_size, Launchers... launchers) {
  try {
    call_first(call, launchers...);
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(message, static_cast<size_t>(message_size), "%s", error.what());
    return 1;
  }
}

}  // namespace opgold

#define OPGOLD_EXPORT(op, ...)                                                                                         \
  extern "C" __attribute__((visibility("default"))) int opgold_op_##op(                                               \
      void* stream, const opgold_tensor* tensors, int32_t tensor_count, const opgold_attribute* attributes,            \
      int32_t attribute_count, char* message, int64_t message_size) {                                                  \
    return ::opgold::enter(::opgold::Call{stream, tensors, tensor_count, attributes, attribute_count}, message,        \
                           message_size, __VA_ARGS__);                                                                 \
  }
