// The launches, copies and fills of a call, and which of them a device runs one after another: streams, events, joins.
#pragma once

#include <memory>
#include <vector>

#include "emulator/core/findings.h"

namespace opgold::emulator {

// How many operations of each of the call's streams are over.
using StreamClock = std::vector<uint32_t>;

struct Operation {
  uint32_t epoch;  // its first
  size_t stream;
  uint32_t number;  // on its stream
  const char* name;
  const char* file;
  int line;
  Index grid, block;  // of a launch
  bool is_launch;
};

// What has been queued on one stream, as a call sees it.
struct Timeline {
  uint64_t call = 0;  // the one that last used it
  size_t index = 0;
  StreamClock clock;
};

void begin_operations(Timeline& caller);
// Reports what was left on other streams than the caller's.
void end_operations();
// Brings a timeline into this call. A stream knows nothing of the caller's until it waits for an event of it.
void touch(Timeline& timeline);
void join(Timeline& timeline, const StreamClock& clock);

// Queues what runs from the current epoch on. Returns the first epoch that is not over for it, the current one if all are.
uint32_t queue(Timeline& timeline, Operation operation);
const Operation& operation_at(uint32_t epoch);
const Operation& running_operation();
// Whether an operation is over for the one that runs.
bool is_over(const Operation& operation);

std::string describe(const Operation& operation);

}  // namespace opgold::emulator
