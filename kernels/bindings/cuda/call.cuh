// One guarded call of an entry, and its report.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "bindings/cuda/arena.h"
#include "bindings/cuda/gate.cuh"
#include "bindings/cuda/status.h"
#include "bindings/export.h"
#include "bindings/json.h"

namespace opgold::cuda {

struct Finding {
  const char* kind;
  std::string detail;
  const opgold_tensor* tensor = nullptr;
  int64_t element = 0;
  int64_t count = 1;
};

class GuardedCall {
 public:
  GuardedCall(Arena& arena, Gate& gate, const opgold_options& options) : arena_(arena), gate_(gate), options_(options) {}

  void run(cudaStream_t stream, opgold_entry entry, const opgold_tensor* tensors, int32_t tensor_count,
           const opgold_attribute* attributes, int32_t attribute_count) {
    tensors_.assign(tensors, tensors + tensor_count);
    try {
      arena_.place(tensors, tensor_count, options_);
      enqueue(stream, entry, attributes, attribute_count);
      if (!wait(stream)) return;
      arena_.fetch(stream);
      check(cudaStreamSynchronize(stream));
    } catch (const Failure& failure) {
      gate_.open();
      lost_ = device_lost();
      const char* aftermath = lost_ ? " (sticky: the process must be restarted)" : "";
      findings_.push_back({"fault", failure.what() + std::string(aftermath)});
      return;
    }
    for (const Placement& p : arena_.placements()) inspect(p, tensors[p.tensor]);
  }

  std::string report() const {
    json::Writer json;
    json.open('{').field("error", refused_ ? message_ : nullptr).field("seconds", seconds_);
    json.key("launches").open('[').close(']').key("addresses").open('{');
    for (const Placement& p : arena_.placements())
      json.field(tensors_[p.tensor].name, reinterpret_cast<uint64_t>(arena_.address(p)));
    json.close('}').key("findings").open('[');
    for (const Finding& finding : findings_) write(json, finding);
    json.close(']').field("device_lost", lost_).close('}');
    return json.text();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void enqueue(cudaStream_t stream, opgold_entry entry, const opgold_attribute* attributes, int32_t attribute_count) {
    std::vector<opgold_tensor> placed = tensors_;
    for (const Placement& p : arena_.placements()) {
      placed[p.tensor].data = arena_.address(p);
      placed[p.tensor].device = opgold_cuda;
    }
    begun_ = Clock::now();
    arena_.spoil(stream);
    gate_.close(stream);
    arena_.send(stream);
    check(cudaEventRecord(event(0), stream));
    refused_ = entry(stream, placed.data(), int32_t(placed.size()), attributes, attribute_count, message_, sizeof message_);
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
        findings_.push_back({"hang", limit});
        lost_ = true;
        return false;
      }
      if (waited > 2e-4) std::this_thread::sleep_for(std::chrono::microseconds(waited < 0.1 ? 50 : 2000));
    }
    check(cudaDeviceSynchronize());
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, event(0), event(1)));
    seconds_ = milliseconds * 1e-3;
    return true;
  }

  void inspect(const Placement& p, const opgold_tensor& tensor) {
    note("canary", p, tensor, p.low, p.begin, "in front of the buffer");
    note("canary", p, tensor, p.end, p.high, "behind the buffer");
    if (tensor.flags & opgold_writes) arena_.take(p, tensor.data);
    else note("input-write", p, tensor, p.begin, p.end, "of an input");
  }

  void note(const char* kind, const Placement& p, const opgold_tensor& tensor, int64_t low, int64_t high, const char* where) {
    const Difference changed = arena_.changed(p, low, high);
    if (!changed.bytes) return;
    const std::string detail = std::to_string(changed.bytes) + (changed.bytes == 1 ? " byte " : " bytes ") + where + " changed";
    findings_.push_back({kind, detail, &tensor, Arena::element_of(p, changed.first), changed.elements});
  }

  void write(json::Writer& json, const Finding& finding) const {
    const opgold_tensor* tensor = finding.tensor;
    json.open('{').field("kind", finding.kind).field("kernel", static_cast<const char*>(nullptr));
    json.field("memory", tensor ? "global" : nullptr).field("access", tensor ? "write" : nullptr);
    json.field("argument", tensor ? tensor->name : nullptr).field("dtype", tensor ? dtype_name(tensor->dtype) : nullptr);
    json.key("shape");
    if (tensor) {
      json.open('[');
      for (int32_t axis = 0; axis < tensor->rank; ++axis) json.value(tensor->shape[axis]);
      json.close(']').field("element", finding.element).field("size", element_bytes(tensor->dtype));
    } else {
      json.null().key("element").null().key("size").null();
    }
    json.field("count", finding.count).field("detail", finding.detail).close('}');
  }

  static cudaEvent_t event(int which) {
    static cudaEvent_t events[2] = {};
    if (!events[which]) check(cudaEventCreate(&events[which]));
    return events[which];
  }

  Arena& arena_;
  Gate& gate_;
  const opgold_options& options_;
  std::vector<opgold_tensor> tensors_;
  std::vector<Finding> findings_;
  Clock::time_point begun_;
  char message_[512] = "";
  bool refused_ = false;
  bool lost_ = false;
  double seconds_ = 0;
};

}  // namespace opgold::cuda
