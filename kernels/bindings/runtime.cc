// opgold.kernels._runtime: loads device and kernel libraries, and calls entries with NumPy arrays or device addresses. The
// only unit that knows Python.

#include <dlfcn.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "bindings/abi.h"

namespace py = pybind11;

namespace {

int32_t dtype_of(const std::string& name) {
  static const std::map<std::string, int32_t> known = {
      {"bool", opgold_bool},         {"uint8", opgold_uint8},       {"int32", opgold_int32},     {"int64", opgold_int64},
      {"float16", opgold_float16},   {"bfloat16", opgold_bfloat16}, {"float32", opgold_float32}, {"float64", opgold_float64}};
  const auto found = known.find(name);
  if (found == known.end()) throw py::type_error("dtype " + name + " has no counterpart in kernels");
  return found->second;
}

int32_t flags_of(const std::string& direction) {
  if (direction == "in") return opgold_reads;
  if (direction == "out") return opgold_writes;
  if (direction == "inout") return opgold_reads | opgold_writes;
  throw py::value_error("direction " + direction + ", expected in, out or inout");
}

// A shared library that stays loaded as long as the process: device code may be referred to by findings.
class Library {
 public:
  Library(const std::string& path, bool global) : path_(path), handle_(dlopen(path.c_str(), RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL))) {
    if (!handle_) throw std::runtime_error(std::string("cannot load library: ") + dlerror());
  }
  template <class Function>
  Function symbol(const std::string& name) const {
    void* address = dlsym(handle_, name.c_str());
    if (!address) throw std::runtime_error(path_ + " does not export " + name);
    return reinterpret_cast<Function>(address);
  }

 private:
  std::string path_;
  void* handle_;
};

// A view of memory on some device: what Device.upload returns, or any address with its shape and dtype.
struct DeviceArray {
  uintptr_t address;
  std::vector<int64_t> shape;
  std::string dtype;
};

struct Arguments {
  std::vector<std::string> names;  // owns what the descriptors point to
  std::vector<opgold_tensor> tensors;
  std::vector<opgold_attribute> attributes;
  std::vector<py::object> kept;
};

using NamedTensor = std::tuple<std::string, py::object, std::string>;
using NamedAttribute = std::pair<std::string, std::variant<bool, int64_t, double>>;

opgold_tensor describe(const py::object& value, const std::string& direction, int32_t device) {
  opgold_tensor tensor{};
  tensor.flags = flags_of(direction);
  tensor.rank = opgold_absent;
  if (value.is_none()) return tensor;
  if (py::isinstance<DeviceArray>(value)) {
    const auto& array = value.cast<const DeviceArray&>();
    if (array.shape.size() > opgold_max_rank) throw py::value_error("more than 8 dimensions");
    tensor.data = reinterpret_cast<void*>(array.address);
    tensor.dtype = dtype_of(array.dtype);
    tensor.rank = static_cast<int32_t>(array.shape.size());
    std::copy(array.shape.begin(), array.shape.end(), tensor.shape);
    tensor.flags |= opgold_contiguous;
    tensor.device = device;
    return tensor;
  }
  if (!py::isinstance<py::array>(value)) throw py::type_error("expected a NumPy array, a DeviceArray or None");
  const auto array = py::reinterpret_borrow<py::array>(value);
  if (array.ndim() > opgold_max_rank) throw py::value_error("more than 8 dimensions");
  if ((tensor.flags & opgold_writes) && !array.writeable()) throw py::value_error("array is read-only");
  tensor.data = const_cast<void*>(array.data());
  tensor.dtype = dtype_of(py::str(array.dtype().attr("name")));
  tensor.rank = static_cast<int32_t>(array.ndim());
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) tensor.shape[axis] = array.shape(axis);
  if (array.flags() & py::array::c_style) tensor.flags |= opgold_contiguous;
  tensor.device = opgold_host;
  return tensor;
}

Arguments gather(const std::vector<NamedTensor>& tensors, const std::vector<NamedAttribute>& attributes, int32_t device) {
  Arguments arguments;
  arguments.names.reserve(tensors.size() + attributes.size());
  for (const auto& [name, value, direction] : tensors) {
    arguments.names.push_back(name);
    try {
      arguments.tensors.push_back(describe(value, direction, device));
    } catch (const py::builtin_exception& error) {
      throw py::value_error(name + ": " + error.what());
    }
    arguments.tensors.back().name = arguments.names.back().c_str();
    arguments.kept.push_back(value);
  }
  for (const auto& [name, value] : attributes) {
    arguments.names.push_back(name);
    opgold_attribute attribute{};
    attribute.name = arguments.names.back().c_str();
    if (const auto* real = std::get_if<double>(&value)) {
      attribute.is_real = 1;
      attribute.real = *real;
    } else if (const auto* integer = std::get_if<int64_t>(&value)) {
      attribute.integer = *integer;
    } else {
      attribute.integer = std::get<bool>(value);
    }
    arguments.attributes.push_back(attribute);
  }
  return arguments;
}

opgold_entry entry_of(const Library& library, const std::string& op) {
  return library.symbol<opgold_entry>("opgold_op_" + op);
}

// A device library. `call` takes host arrays and guards them; `launch` and `time` take arrays that lie on the device.
class Device {
 public:
  Device(const std::string& path, int32_t kind) : library_(path, true), kind_(kind) {}

  std::string unavailable() const {
    const char* why = library_.symbol<decltype(&opgold_device_unavailable)>("opgold_device_unavailable")();
    return why ? why : "";
  }

  std::string call(const Library& library, const std::string& op, const std::vector<NamedTensor>& tensors,
                   const std::vector<NamedAttribute>& attributes, int32_t schedule, int32_t shift, uint64_t seed,
                   int64_t step_limit, double time_limit, int32_t clusters, int32_t cores, int32_t copies,
                   int32_t barriers) const {
    const auto run = library_.symbol<decltype(&opgold_device_call)>("opgold_device_call");
    const opgold_entry entry = entry_of(library, op);
    const Arguments arguments = gather(tensors, attributes, kind_);
    for (const auto& tensor : arguments.tensors)
      if (tensor.rank != opgold_absent && !(tensor.flags & opgold_contiguous))
        throw py::value_error(std::string(tensor.name) + ": array is not contiguous");
    opgold_options options{schedule, shift, seed, step_limit, time_limit, clusters, cores, copies, barriers};
    std::string report;
    {
      py::gil_scoped_release released;
      report = run(entry, arguments.tensors.data(), static_cast<int32_t>(arguments.tensors.size()),
                   arguments.attributes.data(), static_cast<int32_t>(arguments.attributes.size()), &options);
    }
    return report;
  }

  DeviceArray upload(const py::array& source) const {
    const auto allocate = library_.symbol<decltype(&opgold_device_allocate)>("opgold_device_allocate");
    const auto copy = library_.symbol<decltype(&opgold_device_copy)>("opgold_device_copy");
    if (!(source.flags() & py::array::c_style)) throw py::value_error("array is not contiguous");
    void* address = allocate(source.nbytes());
    if (!address) throw std::runtime_error("device memory exhausted");
    if (copy(address, source.data(), source.nbytes())) throw std::runtime_error("copy to device failed");
    return {reinterpret_cast<uintptr_t>(address), {source.shape(), source.shape() + source.ndim()},
            py::str(source.dtype().attr("name"))};
  }

  void release(DeviceArray& array) const {
    library_.symbol<decltype(&opgold_device_free)>("opgold_device_free")(reinterpret_cast<void*>(array.address));
    array.address = 0;
  }

  std::vector<double> time(const Library& library, const std::string& op, const std::vector<NamedTensor>& tensors,
                           const std::vector<NamedAttribute>& attributes, int32_t launches, int32_t samples) const {
    const auto measure = library_.symbol<decltype(&opgold_device_time)>("opgold_device_time");
    const Arguments arguments = gather(tensors, attributes, kind_);
    std::vector<double> seconds(samples);
    char message[512] = "";
    int status;
    {
      py::gil_scoped_release released;
      status = measure(entry_of(library, op), arguments.tensors.data(), static_cast<int32_t>(arguments.tensors.size()),
                       arguments.attributes.data(), static_cast<int32_t>(arguments.attributes.size()), launches, samples,
                       seconds.data(), message, sizeof message);
    }
    if (status) throw std::runtime_error(op + ": " + message);
    return seconds;
  }

 private:
  Library library_;
  int32_t kind_;
};

}  // namespace

PYBIND11_MODULE(_runtime, module) {
  py::class_<Library>(module, "Library").def(py::init<const std::string&, bool>(), py::arg("path"), py::arg("share_symbols") = false);
  py::class_<DeviceArray>(module, "DeviceArray")
      .def(py::init<uintptr_t, std::vector<int64_t>, std::string>(), py::arg("address"), py::arg("shape"), py::arg("dtype"))
      .def_readonly("address", &DeviceArray::address)
      .def_readonly("shape", &DeviceArray::shape)
      .def_readonly("dtype", &DeviceArray::dtype);
  py::class_<Device>(module, "Device")
      .def(py::init<const std::string&, int32_t>(), py::arg("path"), py::arg("kind"))
      .def("unavailable", &Device::unavailable)
      .def("call", &Device::call, py::arg("library"), py::arg("op"), py::arg("tensors"), py::arg("attributes"),
           py::arg("schedule"), py::arg("shift"), py::arg("seed"), py::arg("step_limit"), py::arg("time_limit"),
           py::arg("clusters"), py::arg("cores"), py::arg("copies"), py::arg("barriers"))
      .def("upload", &Device::upload)
      .def("release", &Device::release)
      .def("time", &Device::time, py::arg("library"), py::arg("op"), py::arg("tensors"), py::arg("attributes"),
           py::arg("launches"), py::arg("samples"));
}
