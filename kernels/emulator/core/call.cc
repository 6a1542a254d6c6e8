// opgold_device_call: one entry as one transaction. Copies in, runs, checks, copies out, reports.
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>

#include "bindings/abi.h"
#include "emulator/core/arena.h"
#include "emulator/core/block.h"
#include "emulator/core/excuses.h"
#include "emulator/core/faults.h"
#include "emulator/core/findings.h"
#include "emulator/core/launch.h"
#include "emulator/core/stream.h"

namespace opgold::emulator {

namespace {

constexpr int64_t default_steps = 100'000'000;
constexpr double default_seconds = 10;
constexpr uint32_t last_epoch = 0xe0000000u;

std::mutex transaction;

struct Dtype {
  const char* name;
  uint32_t size;
};

Dtype dtype_of(int32_t dtype) {
  switch (dtype) {
    case opgold_bool: return {"bool", 1};
    case opgold_uint8: return {"uint8", 1};
    case opgold_int32: return {"int32", 4};
    case opgold_int64: return {"int64", 8};
    case opgold_float16: return {"float16", 2};
    case opgold_bfloat16: return {"bfloat16", 2};
    case opgold_float32: return {"float32", 4};
    case opgold_float64: return {"float64", 8};
    default: throw std::runtime_error("unknown dtype " + std::to_string(dtype));
  }
}

size_t size_of(const opgold_tensor& tensor) {
  size_t size = dtype_of(tensor.dtype).size;
  for (int axis = 0; axis < tensor.rank; ++axis) size *= static_cast<size_t>(tensor.shape[axis]);
  return size;
}

// Places a tensor in its slot and makes the descriptor point there.
void upload(Buffer& buffer, opgold_tensor& tensor) {
  const Dtype dtype = dtype_of(tensor.dtype);
  const size_t size = size_of(tensor);
  buffer.name = tensor.name;
  buffer.dtype = dtype.name;
  buffer.item = dtype.size;
  buffer.rank = tensor.rank;
  memcpy(buffer.shape, tensor.shape, sizeof buffer.shape);
  buffer.present = true;
  buffer.shared = buffer.group = false;
  buffer.writable = (tensor.flags & opgold_writes) != 0;
  buffer.tracked = buffer.writable;  // nothing can race on, or wait for, what nobody may write
  place(buffer, size, static_cast<size_t>(call.options.shift) * dtype.size, call.options.seed);
  if (buffer.tracked) shadow(buffer, dtype.size);
  buffer.init_epoch = tensor.flags & opgold_reads ? 0 : current.epoch;
  buffer.fence = current.epoch;
  if (size) memcpy(reinterpret_cast<void*>(buffer.data), tensor.data, size);
  tensor.data = reinterpret_cast<void*>(buffer.data);
  tensor.device = opgold_emulated;
}

void begin_call(const opgold_options* options, int32_t tensor_count) {
  call.options = options ? *options : opgold_options{};
  if (call.options.step_limit <= 0) call.options.step_limit = default_steps;
  if (call.options.time_limit <= 0) call.options.time_limit = default_seconds;
  call.status = success;
  call.abandoned = false;
  call.tensor_count = tensor_count;
  call.launches.clear();
  call.intervals.clear();
  running.request = nullptr;
  clear_findings();
  forget_libraries();
  reseed(call.options.seed);
  if (current.epoch > last_epoch) {
    clear_shadows();
    current.epoch = 1;
  }
  ++current.epoch;
}

// The entry, with faults of its own (host) code caught.
int guarded(opgold_entry entry, const opgold_tensor* tensors, int32_t tensor_count,
            const opgold_attribute* attributes, int32_t attribute_count, char* message, int64_t size) {
  if (const int signal = sigsetjmp(call_exit, 0)) {
    std::snprintf(message, static_cast<size_t>(size), "the launcher itself failed with signal %d (%s)", signal,
                  strsignal(signal));
    return 1;
  }
  return entry(call.stream, tensors, tensor_count, attributes, attribute_count, message, size);
}

std::string index_text(const Index& index) {
  return '[' + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ']';
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9f", seconds);
  return text;
}

std::string report_json(const char* error, double seconds, const std::vector<opgold_tensor>& tensors) {
  std::string text = "{\"error\": ";
  if (error) append_quoted(text, error);
  else text += "null";
  text += ", \"seconds\": " + seconds_text(seconds) + ", \"launches\": [";
  for (size_t i = 0; i < call.launches.size(); ++i) {
    const LaunchEntry& launch = call.launches[i];
    text += i ? ", {\"kernel\": " : "{\"kernel\": ";
    append_quoted(text, launch.kernel.c_str());
    text += ", \"grid\": " + index_text(launch.grid) + ", \"block\": " + index_text(launch.block);
    if (launch.machine == Machine::xpu)
      text += ", \"local_bytes\": " + std::to_string(launch.local_bytes) + ", \"shared_bytes\": " +
              std::to_string(launch.shared_bytes);
    text += '}';
  }
  text += "], \"addresses\": {";
  bool first = true;
  for (const opgold_tensor& tensor : tensors) {
    if (tensor.rank == opgold_absent) continue;
    if (!first) text += ", ";
    first = false;
    append_quoted(text, tensor.name);
    text += ": " + std::to_string(reinterpret_cast<uintptr_t>(tensor.data));
  }
  return text + "}, \"findings\": " + findings_json() + ", \"excuses\": " + excuses::sites_json() + '}';
}

std::string run(opgold_entry entry, const opgold_tensor* tensors, int32_t tensor_count,
                const opgold_attribute* attributes, int32_t attribute_count, const opgold_options* options) {
  if (const char* why = reserve_arena()) return report_json(why, 0, {});
  if (tensor_count > tensor_slots) throw std::runtime_error("more than 128 tensors");
  if (!call.stream) stream_create(&call.stream);
  begin_call(options, tensor_count);
  std::vector<opgold_tensor> placed(tensors, tensors + tensor_count);
  for (int i = 0; i < tensor_count; ++i) {
    buffers[i].present = false;
    if (placed[i].rank != opgold_absent) upload(buffers[i], placed[i]);
  }
  ++current.epoch;
  begin_operations(timeline_of(call.stream));
  excuses::begin_call();

  char message[1024] = "";
  call.active = true;
  install_handlers(call.options.time_limit);
  const auto start = std::chrono::steady_clock::now();
  const int refused = guarded(entry, placed.data(), tensor_count, attributes, attribute_count, message, sizeof message);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  restore_handlers();
  current.slots = 0;
  running.request = nullptr;
  if (!refused && !call.abandoned) end_operations();
  call.active = false;

  for (int i = 0; i < tensor_count; ++i) {
    if (!buffers[i].present) continue;
    check_canary(buffers[i]);
    if (buffers[i].writable && buffers[i].size)
      memcpy(tensors[i].data, reinterpret_cast<const void*>(buffers[i].data), buffers[i].size);
  }
  std::string report = report_json(refused ? message : nullptr, seconds.count(), placed);
  for (int i = 0; i < tensor_count; ++i) buffers[i].present = false;
  return report;
}

}  // namespace

}  // namespace opgold::emulator

extern "C" __attribute__((visibility("default"))) const char* opgold_device_call(
    opgold_entry entry, const opgold_tensor* tensors, int32_t tensor_count, const opgold_attribute* attributes,
    int32_t attribute_count, const opgold_options* options) {
  using namespace opgold::emulator;
  static thread_local std::string report;
  std::lock_guard<std::mutex> lock(transaction);
  try {
    report = run(entry, tensors, tensor_count, attributes, attribute_count, options);
  } catch (const std::exception& error) {
    report = report_json(error.what(), 0, {});
  }
  return report.c_str();
}

extern "C" __attribute__((visibility("default"))) const char* opgold_device_unavailable(void) {
  std::lock_guard<std::mutex> lock(opgold::emulator::transaction);
  return opgold::emulator::reserve_arena();
}
