// What a guarded call found: guards and inputs that changed, faults; and its report.
#pragma once

#include <string>
#include <vector>

#include "bindings/export.h"
#include "bindings/guarded/arena.h"
#include "bindings/json.h"

namespace opgold::guarded {

struct Finding {
  const char* kind;
  std::string detail;
  const opgold_tensor* tensor = nullptr;
  int64_t element = 0;
  int64_t count = 1;
};

template <class Memory>
class Record {
 public:
  Record(const Arena<Memory>& arena, const opgold_tensor* tensors, int32_t count)
      : arena_(arena), tensors_(tensors, tensors + count) {}

  std::vector<opgold_tensor>& tensors() { return tensors_; }
  void refuse() { refused_ = true; }
  char* message() { return message_; }
  int64_t message_size() const { return sizeof message_; }
  void took(double seconds) { seconds_ = seconds; }
  void fault(const char* kind, std::string detail, bool lost) {
    findings_.push_back({kind, std::move(detail)});
    lost_ = lost;
  }

  // Looks at every buffer after the call, and takes over what it wrote.
  void inspect() {
    for (const Placement& p : arena_.placements()) inspect(p, tensors_[p.tensor]);
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
    findings_.push_back({kind, detail, &tensor, Arena<Memory>::element_of(p, changed.first), changed.elements});
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

  const Arena<Memory>& arena_;
  std::vector<opgold_tensor> tensors_;
  std::vector<Finding> findings_;
  char message_[512] = "";
  bool refused_ = false;
  bool lost_ = false;
  double seconds_ = 0;
};

}  // namespace opgold::guarded
