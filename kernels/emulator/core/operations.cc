// Clocks of streams. Operations run as they are queued; what a device could run at once shows in their clocks.
#include "emulator/core/operations.h"

#include <algorithm>
#include <cstring>

namespace opgold::emulator {

namespace {

uint64_t calls = 0;
size_t timelines = 0;  // of this call; the caller's is the first
std::vector<Operation> operations;
Timeline* caller = nullptr;
StreamClock now;  // of the operation that runs

bool knows(const StreamClock& clock, const Operation& operation) {
  return operation.stream < clock.size() && clock[operation.stream] >= operation.number;
}

void report(const Operation& operation, std::string detail) {
  Finding f{"race"};
  f.file = operation.file;
  f.line = operation.line;
  f.detail = describe(operation) + ' ' + std::move(detail);
  add(std::move(f));
}

}  // namespace

void begin_operations(Timeline& of_caller) {
  ++calls;
  timelines = 0;
  operations.clear();
  caller = &of_caller;
  touch(of_caller);
  of_caller.clock[0] = 1;  // the caller's own work, which made the inputs
}

void touch(Timeline& timeline) {
  if (timeline.call == calls) return;
  timeline.call = calls;
  timeline.index = timelines++;
  timeline.clock.assign(timelines, 0);
}

void join(Timeline& timeline, const StreamClock& clock) {
  touch(timeline);
  if (timeline.clock.size() < clock.size()) timeline.clock.resize(clock.size());
  for (size_t i = 0; i < clock.size(); ++i) timeline.clock[i] = std::max(timeline.clock[i], clock[i]);
}

uint32_t queue(Timeline& timeline, Operation operation) {
  touch(timeline);
  now = timeline.clock;
  operation.epoch = current.epoch;
  operation.stream = timeline.index;
  operation.number = ++timeline.clock[timeline.index];
  if (now[0] == 0)
    report(operation, "does not wait for the caller's stream: no event orders it after the work that made its inputs");
  uint32_t first = current.epoch;
  if (timelines > 1) {
    const auto open = std::find_if(operations.begin(), operations.end(), [](const Operation& o) { return !knows(now, o); });
    if (open != operations.end()) first = open->epoch;
  }
  operations.push_back(operation);
  return first;
}

const Operation& operation_at(uint32_t epoch) {
  const auto next = std::upper_bound(operations.begin(), operations.end(), epoch,
                                     [](uint32_t value, const Operation& each) { return value < each.epoch; });
  return *(next - (next == operations.begin() ? 0 : 1));
}

const Operation& running_operation() { return operations.back(); }

bool is_over(const Operation& operation) { return knows(now, operation); }

void end_operations() {
  std::vector<bool> told(timelines);
  for (const Operation& operation : operations) {
    if (knows(caller->clock, operation) || told[operation.stream]) continue;
    told[operation.stream] = true;
    report(operation, "may still run when the call ends: the caller's stream does not wait for its stream");
  }
}

std::string describe(const Operation& operation) {
  std::string text = operation.is_launch ? std::string("the launch of ") + operation.name : operation.name;
  if (!operation.file) return text;
  const char* slash = strrchr(operation.file, '/');
  return text + " (" + (slash ? slash + 1 : operation.file) + ':' + std::to_string(operation.line) + ')';
}

}  // namespace opgold::emulator
