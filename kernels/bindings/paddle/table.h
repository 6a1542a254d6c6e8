// What is said of each Paddle operator: its tensors, its attributes, and the shapes of what it makes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/abi.h"
#include "paddle/phi/api/all.h"

namespace opgold::operators {

// A size of some dimension; negative while it is not known, as is all that is computed with it.
struct Extent {
  int64_t value;
  Extent(int64_t value) : value(value) {}
};
inline Extent operator+(Extent a, Extent b) { return a.value < 0 || b.value < 0 ? -1 : a.value + b.value; }
inline Extent operator-(Extent a, Extent b) { return a.value < 0 || b.value < 0 ? -1 : a.value - b.value; }
inline Extent operator*(Extent a, Extent b) { return a.value < 0 || b.value < 0 ? -1 : a.value * b.value; }
inline Extent operator/(Extent a, Extent b) { return a.value < 0 || b.value <= 0 ? -1 : a.value / b.value; }

using Shape = std::vector<int64_t>;
using Attributes = std::vector<paddle::any>;

// What sizes are computed from.
struct Known {
  const std::vector<Shape>& inputs;
  const Attributes& attributes;
  Extent input(size_t index, size_t axis) const { return axis < inputs[index].size() ? inputs[index][axis] : -1; }
  Extent attribute(size_t index) const { return paddle::any_cast<int64_t>(attributes[index]); }
};

enum Kind { boolean, integer, real };

struct Argument {  // of the kernel's entry
  const char* name;
  int rank;
  int flags;      // opgold_reads, opgold_writes
  int input;      // which of the operator's inputs it is, or -1
  bool optional;
  int output;     // which of the new tensors it is, or -1
  int dtype;      // of a new tensor: opgold_dtype, or
  int dtype_of;   // the input that has the same
};

struct Attribute {  // of the kernel's entry
  const char* name;
  Kind kind;
  int index;  // among the operator's
};

struct Operator {
  const char* op;
  const char* name;  // that Paddle knows it by
  std::vector<Argument> arguments;
  std::vector<Attribute> attributes;
  std::vector<std::string> sizes;  // attributes behind these, of the operator alone
  std::vector<Shape> (*shapes)(const Known&);  // of the new tensors
};

const std::vector<Operator>& table();  // written for this library

}  // namespace opgold::operators
