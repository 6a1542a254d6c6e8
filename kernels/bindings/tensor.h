// What a launcher receives: typed views of buffers, and the error it throws.
#pragma once

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>

namespace opgold {

// A refused argument; the message starts with the argument's name.
struct ArgumentError : std::invalid_argument {
  template <class... Parts>
  explicit ArgumentError(const char* argument, const Parts&... parts)
      : std::invalid_argument(join(argument, parts...)) {}

 private:
  template <class... Parts>
  static std::string join(const char* argument, const Parts&... parts) {
    std::ostringstream text;
    text << argument << ": ";
    (text << ... << parts);
    return text.str();
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
