// What `kernel<<<grid, block, shared, stream>>>(arguments)` is rewritten to (rewrite.py).
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "emulator/cuda/runtime.h"

// The kernel as text, after the arguments of a macro that holds the launch have been put in.
#define OPGOLD_NAME(...) OPGOLD_NAME_TEXT(__VA_ARGS__)
#define OPGOLD_NAME_TEXT(...) #__VA_ARGS__

namespace opgold::emulator {

// The kernel's address where the arguments do not decide which function is meant; else substitution fails.
template <class Tag, class... Parameters>
void (*address_of(Tag, void (*kernel)(Parameters...)))(Parameters...) {
  return kernel;
}

// Every launch of one kernel with one list of argument types is a closure of this type.
template <class Kernel, class... Arguments>
struct Closure {
  Kernel kernel;
  std::tuple<Arguments...> arguments;

  static void run(const void* self) {
    const auto& closure = *static_cast<const Closure*>(self);
    std::apply(closure.kernel, closure.arguments);
  }
  static void* clone(const void* self) { return new Closure(*static_cast<const Closure*>(self)); }
  static void destroy(void* self) { delete static_cast<Closure*>(self); }
};

template <class Kernel, class Address>
class Launcher {
 public:
  Launcher(const char* name, const char* file, int line, Kernel kernel, Address address)
      : request_{name, file, line, {1, 1, 1}, {1, 1, 1}, 0, nullptr, nullptr, nullptr, nullptr, 0, nullptr, nullptr},
        kernel_(kernel) {
    if constexpr (std::is_invocable_v<Address, int>) request_.function = reinterpret_cast<const void*>(address(0));
  }

  Launcher& on(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
    request_.grid = {grid.x, grid.y, grid.z};
    request_.block = {block.x, block.y, block.z};
    request_.shared_bytes = shared_bytes;
    request_.stream = stream;
    return *this;
  }

  template <class... Arguments>
  void operator()(Arguments&&... arguments) {
    using Bound = Closure<Kernel, std::decay_t<Arguments>...>;
    const Bound closure{kernel_, {std::forward<Arguments>(arguments)...}};
    request_.run = Bound::run;
    request_.closure = &closure;
    request_.closure_size = sizeof closure;
    request_.clone = Bound::clone;
    request_.destroy = Bound::destroy;
    launch(request_);
  }

 private:
  LaunchRequest request_;
  Kernel kernel_;
};

}  // namespace opgold::emulator
