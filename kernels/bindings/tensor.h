// What a launcher receives: typed views of buffers, and the error it throws.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace opgold {

// A piece of a message: a text or an integer.
struct Said {
  Said(const char* given) : text(given) {}
  Said(long long given) : number(given) {}
  Said(long given) : number(given) {}
  Said(int given) : number(given) {}

  const char* text = nullptr;
  long long number = 0;
};

// A refused argument; the message starts with the argument's name.
struct ArgumentError : std::invalid_argument {
  template <class... Parts>
  explicit ArgumentError(const char* argument, Parts... parts) : std::invalid_argument(join(argument, {parts...})) {}

 private:
  // Compiled once, not for each message.
  static std::string join(const char* argument, std::initializer_list<Said> parts) {
    std::string message = argument;
    message += ": ";
    for (const Said& part : parts) message += part.text ? std::string(part.text) : std::to_string(part.number);
    return message;
  }
};

// A row-major array of `Rank` dimensions. `Tensor<const T, R>` is read only.
template <class T, int Rank>
struct Tensor {
  T* data = nullptr;
  int64_t shape[Rank] = {};
  const char* name = "";

  int64_t size() const {
    int64_t count = 1;
    for (int64_t extent : shape) count *= extent;
    return count;
  }

  // Throws unless dimension `axis` has `expected` entries.
  void require(int axis, int64_t expected, const char* meaning) const {
    if (shape[axis] != expected)
      throw ArgumentError(name, "dimension ", axis, " is ", shape[axis], ", expected ", expected, " (", meaning, ")");
  }
};

// An argument that may be left out; `given` tells.
template <class TensorType>
struct Optional : TensorType {
  bool given = false;
};

}  // namespace opgold
