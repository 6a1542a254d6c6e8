// One guarded call of an entry on a GPU.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "bindings/cuda/gate.cuh"
#include "bindings/cuda/memory.h"
#include "bindings/cuda/status.h"
#include "bindings/guarded/record.h"

namespace opgold::cuda {

using Arena = guarded::Arena<Memory>;

class GuardedCall {
 public:
  GuardedCall(Arena& arena, Gate& gate, const opgold_options& options, const opgold_tensor* tensors, int32_t count)
      : arena_(arena), gate_(gate), options_(options), record_(arena, tensors, count) {}

  void run(cudaStream_t stream, opgold_entry entry, const opgold_attribute* attributes, int32_t attribute_count) {
    const std::vector<opgold_tensor>& tensors = record_.tensors();
    try {
      arena_.place(tensors.data(), int32_t(tensors.size()), options_);
      enqueue(stream, entry, attributes, attribute_count);
      if (!wait(stream)) return;
      arena_.fetch(stream);
      check(cudaStreamSynchronize(stream));
    } catch (const Failure& failure) {
      gate_.open();
      const bool lost = device_lost();
      record_.fault("fault", failure.what() + std::string(lost ? " (sticky: the process must be restarted)" : ""), lost);
      return;
    }
    record_.inspect();
  }

  std::string report() const { return record_.report(); }

 private:
  using Clock = std::chrono::steady_clock;

  void enqueue(cudaStream_t stream, opgold_entry entry, const opgold_attribute* attributes, int32_t attribute_count) {
    const std::vector<opgold_tensor> placed = arena_.placed(record_.tensors(), opgold_cuda);
    begun_ = Clock::now();
    arena_.spoil(stream);
    gate_.close(stream);
    arena_.send(stream);
    check(cudaEventRecord(event(0), stream));
    if (entry(stream, placed.data(), int32_t(placed.size()), attributes, attribute_count, record_.message(),
              record_.message_size()))
      record_.refuse();
    gate_.open();
    check(cudaEventRecord(event(1), stream));
  }

  // Waits for the stream, then for the device: work left on another stream must not outlive the call.
  bool wait(cudaStream_t stream) {
    for (cudaError_t status; (status = cudaStreamQuery(stream)) != cudaSuccess;) {
      if (status != cudaErrorNotReady) throw Failure(status);
      const double waited = std::chrono::duration<double>(Clock::now() - begun_).count();
      if (waited > options_.time_limit) {
        char limit[64];
        std::snprintf(limit, sizeof limit, "no end within %.3g s", options_.time_limit);
        record_.fault("hang", limit, true);
        return false;
      }
      if (waited > 2e-4) std::this_thread::sleep_for(std::chrono::microseconds(waited < 0.1 ? 50 : 2000));
    }
    check(cudaDeviceSynchronize());
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, event(0), event(1)));
    record_.took(milliseconds * 1e-3);
    return true;
  }

  static cudaEvent_t event(int which) {
    static cudaEvent_t events[2] = {};
    if (!events[which]) check(cudaEventCreate(&events[which]));
    return events[which];
  }

  Arena& arena_;
  Gate& gate_;
  const opgold_options& options_;
  guarded::Record<Memory> record_;
  Clock::time_point begun_;
};

}  // namespace opgold::cuda
