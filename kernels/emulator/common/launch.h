// What a launch is rewritten to (rewrite.py), but for its configuration, which differs from vendor to vendor.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "emulator/core/hooks.h"

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
class KernelLaunch {
 protected:
  KernelLaunch(const char* name, const char* file, int line, Kernel kernel, Address address, Machine machine)
      : request_{name,    file,    line, {1, 1, 1}, {1, 1, 1}, 0, nullptr, nullptr,
                 nullptr, nullptr, 0,    nullptr,   nullptr,   machine, true},
        kernel_(kernel) {
    if constexpr (std::is_invocable_v<Address, int>) request_.function = reinterpret_cast<const void*>(address(0));
  }

  template <class... Arguments>
  void run(Arguments&&... arguments) {
    using Bound = Closure<Kernel, std::decay_t<Arguments>...>;
    const Bound closure{kernel_, {std::forward<Arguments>(arguments)...}};
    request_.run = Bound::run;
    request_.closure = &closure;
    request_.closure_size = sizeof closure;
    request_.clone = Bound::clone;
    request_.destroy = Bound::destroy;
    launch(request_);
  }

  LaunchRequest request_;

 private:
  Kernel kernel_;
};

}  // namespace opgold::emulator
