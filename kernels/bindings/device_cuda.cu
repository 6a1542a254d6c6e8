// The device library of NVIDIA GPUs: every function of abi.h on the first visible device.
#include <algorithm>
#include <mutex>

#include "bindings/cuda/call.cuh"
#include "bindings/cuda/timing.h"

namespace opgold::cuda {
namespace {

std::mutex one_call_at_a_time;

// Never the default stream, and it does not wait for it either.
cudaStream_t stream() {
  static cudaStream_t made = nullptr;
  if (!made) check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  return made;
}

std::string reason_against_use() {
  int driver = 0, devices = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "there is no NVIDIA driver";
  const cudaError_t counted = cudaGetDeviceCount(&devices);
  if (counted == cudaErrorNoDevice || (counted == cudaSuccess && devices == 0)) return "no NVIDIA GPU is visible";
  if (counted != cudaSuccess) return describe(counted);
  cudaFuncAttributes attributes;
  const cudaError_t loaded = cudaFuncGetAttributes(&attributes, hold);
  if (loaded != cudaSuccess) return describe(loaded);
  return "";
}

template <class Function>
bool succeeds(Function function) {
  const bool success = function() == cudaSuccess;
  if (!success) cudaGetLastError();
  return success;
}

}  // namespace
}  // namespace opgold::cuda

#define OPGOLD_EXPORTED extern "C" __attribute__((visibility("default")))

OPGOLD_EXPORTED const char* opgold_device_unavailable(void) {
  static thread_local std::string reason;
  reason = opgold::cuda::reason_against_use();
  cudaGetLastError();
  return reason.empty() ? nullptr : reason.c_str();
}

OPGOLD_EXPORTED const char* opgold_device_call(opgold_entry entry, const opgold_tensor* tensors, int32_t tensor_count,
                                               const opgold_attribute* attributes, int32_t attribute_count,
                                               const opgold_options* options) {
  using namespace opgold::cuda;
  static Arena arena;
  static Gate gate;
  static thread_local std::string report;
  const std::lock_guard<std::mutex> guard(opgold::cuda::one_call_at_a_time);
  try {
    GuardedCall call(arena, gate, *options, tensors, tensor_count);
    call.run(stream(), entry, attributes, attribute_count);
    report = call.report();
  } catch (const std::exception& failure) {  // there is no stream: nothing ran
    opgold::json::Writer json;
    json.open('{').key("error").null().key("findings").open('[').open('{').field("kind", "fault");
    json.field("detail", failure.what()).close('}').close(']').field("device_lost", true).close('}');
    report = json.text();
  }
  return report.c_str();
}

OPGOLD_EXPORTED void* opgold_device_allocate(int64_t bytes) {
  void* address = nullptr;
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  return opgold::cuda::succeeds([&] { return cudaMalloc(&address, size); }) ? address : nullptr;
}

OPGOLD_EXPORTED void opgold_device_free(void* address) {
  opgold::cuda::succeeds([&] { return cudaFree(address); });
}

OPGOLD_EXPORTED int opgold_device_copy(void* target, const void* source, int64_t bytes) {
  if (bytes == 0) return 0;
  const auto size = static_cast<size_t>(bytes);
  return !opgold::cuda::succeeds([&] { return cudaMemcpy(target, source, size, cudaMemcpyDefault); }) ||
         !opgold::cuda::succeeds([] { return cudaDeviceSynchronize(); });
}

OPGOLD_EXPORTED int opgold_device_time(opgold_entry entry, const opgold_tensor* tensors, int32_t tensor_count,
                                       const opgold_attribute* attributes, int32_t attribute_count, int32_t launches,
                                       int32_t samples, double* seconds, char* message, int64_t message_size) {
  const auto enter = [=](cudaStream_t stream) {
    char refusal[512] = "";
    const int refused = entry(stream, tensors, tensor_count, attributes, attribute_count, refusal, sizeof refusal);
    return refused ? std::string(*refusal ? refusal : "refused") : std::string();
  };
  const std::lock_guard<std::mutex> guard(opgold::cuda::one_call_at_a_time);
  try {
    const opgold::cuda::Kept kept(tensors, tensor_count);
    opgold::cuda::time(opgold::cuda::stream(), enter, kept, launches, samples, seconds);
    return 0;
  } catch (const std::exception& failure) {
    cudaGetLastError();
    std::snprintf(message, static_cast<size_t>(message_size), "%s", failure.what());
    return 1;
  }
}
