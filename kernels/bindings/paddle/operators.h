// Ops as Paddle custom operators: everything but the table of them, which harness/paddle/registration.py writes.
//
// There are no kernels here. An operator describes its tensors as abi.h wants them and calls the op's entry: on a CPU
// through the emulator's opgold_device_call, which works on guarded copies and reports; on a GPU on Paddle's own stream.
#pragma once

#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bindings/paddle/table.h"

namespace opgold::operators {

using DeviceCall = decltype(&opgold_device_call);
struct Bound {
  opgold_entry entry = nullptr;
  DeviceCall call = nullptr;  // none: the entry's launches go to Paddle's stream
};

inline std::vector<Bound>& bound() {
  static std::vector<Bound> made(table().size());
  return made;
}

struct Watch {  // how calls are made, and what the last one reported
  opgold_options options{};
  bool quiet = false;  // whoever calls looks at the report
  std::string report;
};

inline Watch& watch() {
  static Watch made;
  return made;
}

inline int32_t dtype_of(paddle::DataType dtype) {
  switch (dtype) {
    case paddle::DataType::BOOL: return opgold_bool;
    case paddle::DataType::UINT8: return opgold_uint8;
    case paddle::DataType::INT32: return opgold_int32;
    case paddle::DataType::INT64: return opgold_int64;
    case paddle::DataType::FLOAT16: return opgold_float16;
    case paddle::DataType::BFLOAT16: return opgold_bfloat16;
    case paddle::DataType::FLOAT32: return opgold_float32;
    case paddle::DataType::FLOAT64: return opgold_float64;
    default: return 0;
  }
}

inline paddle::DataType dtype_of(int dtype) {
  using paddle::DataType;
  static const DataType known[] = {DataType::UNDEFINED, DataType::BOOL,    DataType::UINT8,    DataType::INT32,  DataType::INT64,
                                   DataType::FLOAT16,   DataType::BFLOAT16, DataType::FLOAT32, DataType::FLOAT64};
  return known[dtype];
}

// `[n, 1]` is `[n]` where one dimension is wanted.
inline opgold_tensor describe(const Operator& op, const Argument& argument, const paddle::Tensor* tensor) {
  opgold_tensor described{};
  described.name = argument.name;
  described.flags = argument.flags;
  described.rank = opgold_absent;
  if (!tensor) return described;
  const Shape shape = tensor->shape();
  const bool column = argument.rank == 1 && shape.size() == 2 && shape[1] == 1;
  PD_CHECK(shape.size() <= opgold_max_rank, op.op, ": ", argument.name, ": has ", shape.size(), " dimensions");
  PD_CHECK(tensor->is_contiguous(), op.op, ": ", argument.name, ": is not contiguous");
  described.rank = static_cast<int32_t>(column ? 1 : shape.size());
  std::copy(shape.begin(), shape.end(), described.shape);
  described.data = tensor->numel() ? const_cast<void*>(tensor->data()) : nullptr;
  described.dtype = dtype_of(tensor->dtype());
  PD_CHECK(described.dtype, op.op, ": ", argument.name, ": no kernel has its dtype");
  described.flags |= opgold_contiguous;
  described.device = tensor->is_gpu() ? opgold_cuda : opgold_host;
  return described;
}

inline opgold_attribute describe(const Attribute& attribute, const Attributes& given) {
  opgold_attribute described{};
  described.name = attribute.name;
  const paddle::any& value = given[attribute.index];
  if (attribute.kind == boolean) described.integer = paddle::any_cast<bool>(value);
  if (attribute.kind == integer) described.integer = paddle::any_cast<int64_t>(value);
  if (attribute.kind == real) described.is_real = 1, described.real = paddle::any_cast<float>(value);
  return described;
}

inline void enter(const Operator& op, const Bound& to, const paddle::Tensor& first,
                  const std::vector<opgold_tensor>& tensors, const std::vector<opgold_attribute>& attributes) {
  PD_CHECK(to.entry, op.op, ": its kernel is not loaded; opgold.paddle.load() loads all");
  const auto tensor_count = static_cast<int32_t>(tensors.size()), attribute_count = static_cast<int32_t>(attributes.size());
  if (to.call) {
    PD_CHECK(first.is_cpu(), op.op, ": its kernel runs on the CPU's emulator; the tensors do not lie on the CPU");
    watch().report = to.call(to.entry, tensors.data(), tensor_count, attributes.data(), attribute_count, &watch().options);
    const char* report = watch().report.c_str();
    const bool clean = std::strstr(report, "\"error\": null") && std::strstr(report, "\"findings\": []");
    PD_CHECK(clean || watch().quiet, op.op, ": ", report);
    return;
  }
#ifdef PADDLE_WITH_CUDA
  PD_CHECK(first.is_gpu(), op.op, ": its kernel runs on a GPU; the tensors do not lie on one");
  char message[512] = "";
  const int refused = to.entry(first.stream(), tensors.data(), tensor_count, attributes.data(), attribute_count, message,
                               sizeof message);
  PD_CHECK(!refused, op.op, ": ", message);
#else
  PD_THROW(op.op, ": this Paddle has no CUDA");
#endif
}

inline std::vector<std::string> inputs_of(const Operator& op, std::vector<const Argument*>* ordered = nullptr) {
  std::vector<const Argument*> inputs;
  for (const Argument& argument : op.arguments)
    if (argument.input >= 0) {
      if (inputs.size() <= static_cast<size_t>(argument.input)) inputs.resize(argument.input + 1);
      inputs[argument.input] = &argument;
    }
  std::vector<std::string> names;
  for (const Argument* input : inputs) names.push_back(input->optional ? paddle::Optional(input->name) : input->name);
  if (ordered) *ordered = inputs;
  return names;
}

inline void run(size_t index, paddle::CustomOpKernelContext* context) {
  const Operator& op = table()[index];
  const size_t count = inputs_of(op).size();
  std::vector<const paddle::Tensor*> inputs;
  std::vector<Shape> shapes;
  for (size_t input = 0; input < count; ++input) {
    const paddle::Tensor& tensor = context->InputAt(context->InputRangeAt(input).first);
    inputs.push_back(tensor.defined() ? &tensor : nullptr);
    shapes.push_back(tensor.defined() ? tensor.shape() : Shape{});
  }
  std::vector<paddle::Tensor> made;
  const std::vector<Shape> wanted = op.shapes({shapes, context->Attrs()});
  made.reserve(wanted.size());
  for (const Argument& argument : op.arguments) {
    if (argument.output < 0) continue;
    const Shape& shape = wanted[argument.output];
    for (const int64_t extent : shape)
      PD_CHECK(extent >= 0, op.op, ": ", argument.name, ": an extent of ", extent, ", expected at least 0");
    const auto dtype = argument.dtype ? dtype_of(argument.dtype) : inputs[argument.dtype_of]->dtype();
    made.push_back(paddle::empty(shape, dtype, inputs[0]->place()));
  }
  std::vector<opgold_tensor> tensors;
  for (const Argument& argument : op.arguments)
    tensors.push_back(describe(op, argument, argument.output < 0 ? inputs[argument.input] : &made[argument.output]));
  std::vector<opgold_attribute> attributes;
  for (const Attribute& attribute : op.attributes) attributes.push_back(describe(attribute, context->Attrs()));
  enter(op, bound()[index], *inputs[0], tensors, attributes);
  context->ValidateAndAssignOutputs(made);
}

inline void declare(size_t index, paddle::KernelFunc kernel, paddle::InferShapeFunc shapes, paddle::InferDtypeFunc dtypes) {
  static const char* const kinds[] = {"bool", "int64_t", "float"};
  const Operator& op = table()[index];
  std::vector<const Argument*> inputs;
  std::vector<std::string> names = inputs_of(op, &inputs), outputs, attributes(op.attributes.size());
  std::unordered_map<std::string, std::string> in_place;
  for (const Argument* input : inputs)
    if (input->flags & opgold_writes) {
      const std::string out = std::string(input->name) + "_out";
      outputs.push_back(input->optional ? paddle::Optional(out) : out);
      in_place[names[input->input]] = outputs.back();
    }
  bool makes = false;
  for (const Argument& argument : op.arguments)
    if (argument.output >= 0) outputs.push_back(argument.name), makes = true;
  for (const Attribute& attribute : op.attributes)
    attributes[attribute.index] = std::string(attribute.name) + ": " + kinds[attribute.kind];
  for (const std::string& size : op.sizes) attributes.push_back(size + ": int64_t");
  paddle::OpMetaInfoBuilder builder(op.name, 0);
  builder.Inputs(std::move(names)).Outputs(std::move(outputs)).Attrs(std::move(attributes)).SetKernelFn(kernel);
  if (!in_place.empty()) builder.SetInplaceMap(std::move(in_place));
  if (makes) builder.SetInferShapeFn(shapes).SetInferDtypeFn(dtypes);
}

template <size_t Index>
struct Registered {
  static void kernel(paddle::CustomOpKernelContext* context) { run(Index, context); }
  static std::vector<Shape> shapes(const std::vector<Shape>& inputs, const std::vector<std::vector<Shape>>&,
                                   const Attributes& attributes) {
    return table()[Index].shapes({inputs, attributes});
  }
  static std::vector<paddle::DataType> dtypes(const std::vector<paddle::DataType>& inputs,
                                              const std::vector<std::vector<paddle::DataType>>&, const Attributes&) {
    std::vector<paddle::DataType> made;
    for (const Argument& argument : table()[Index].arguments)
      if (argument.output >= 0) made.push_back(argument.dtype ? dtype_of(argument.dtype) : inputs[argument.dtype_of]);
    return made;
  }
};

template <size_t... Index>
bool declare_all(std::index_sequence<Index...>) {
  (declare(Index, Registered<Index>::kernel, Registered<Index>::shapes, Registered<Index>::dtypes), ...);
  return true;
}

}  // namespace opgold::operators

#define OPGOLD_EXPORTED extern "C" __attribute__((visibility("default"), used)) inline

// What Python tells this library. `index` is an operator's place in the table.
OPGOLD_EXPORTED void opgold_paddle_bind(int32_t index, void* entry, void* device_call) {
  opgold::operators::bound()[index] = {reinterpret_cast<opgold_entry>(entry),
                                       reinterpret_cast<opgold::operators::DeviceCall>(device_call)};
}
OPGOLD_EXPORTED void opgold_paddle_watch(const opgold_options* options, int32_t quiet) {
  opgold::operators::watch().options = *options;
  opgold::operators::watch().quiet = quiet;
  opgold::operators::watch().report.clear();
}
OPGOLD_EXPORTED const char* opgold_paddle_report() { return opgold::operators::watch().report.c_str(); }
