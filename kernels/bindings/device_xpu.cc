// The device library of Kunlun XPUs: the functions of abi.h that calls need, on the current device.
#include <chrono>
#include <mutex>

#include "bindings/guarded/record.h"
#include "bindings/xpu/memory.h"

namespace opgold::xpu {
namespace {

std::mutex one_call_at_a_time;

XPUStream stream() {
  static XPUStream made = nullptr;
  if (!made) check(xpu_stream_create(&made), "xpu_stream_create");
  return made;
}

std::string reason_against_use() {
  int devices = 0;
  if (xpu_device_count(&devices) != 0 || devices == 0) return "no XPU is visible";
  return "";
}

std::string run(opgold_entry entry, const opgold_tensor* tensors, int32_t tensor_count,
                const opgold_attribute* attributes, int32_t attribute_count, const opgold_options& options) {
  static guarded::Arena<Memory> arena;
  guarded::Record<Memory> record(arena, tensors, tensor_count);
  try {
    arena.place(tensors, tensor_count, options);
    arena.send(stream());
    const std::vector<opgold_tensor> placed = arena.placed(record.tensors(), opgold_xpu);
    const auto begun = std::chrono::steady_clock::now();
    if (entry(stream(), placed.data(), tensor_count, attributes, attribute_count, record.message(),
              record.message_size()))
      record.refuse();
    check(xpu_wait(stream()), "xpu_wait");
    record.took(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
    arena.fetch(stream());
    record.inspect();
  } catch (const std::exception& failure) {
    record.fault("fault", failure.what(), true);
  }
  return record.report();
}

}  // namespace
}  // namespace opgold::xpu

#define OPGOLD_EXPORTED extern "C" __attribute__((visibility("default")))

OPGOLD_EXPORTED const char* opgold_device_unavailable(void) {
  static thread_local std::string reason;
  reason = opgold::xpu::reason_against_use();
  return reason.empty() ? nullptr : reason.c_str();
}

OPGOLD_EXPORTED const char* opgold_device_call(opgold_entry entry, const opgold_tensor* tensors, int32_t tensor_count,
                                               const opgold_attribute* attributes, int32_t attribute_count,
                                               const opgold_options* options) {
  static thread_local std::string report;
  const std::lock_guard<std::mutex> guard(opgold::xpu::one_call_at_a_time);
  report = opgold::xpu::run(entry, tensors, tensor_count, attributes, attribute_count, *options);
  return report.c_str();
}
