// Findings: what was wrong, where, and by whom; gathered during a call.
#pragma once

#include <string>

#include "emulator/core/state.h"

namespace opgold::emulator {

struct Place {
  bool known = false;
  const char* access = nullptr;
  Index block{}, thread{};
  uintptr_t pc = 0;  // offset in the kernel library, 0 if unknown
};

struct Finding {
  explicit Finding(const char* what = "") : kind(what) {}

  const char* kind;
  const char* access = nullptr;
  const Buffer* buffer = nullptr;
  int64_t element = 0;
  size_t size = 0;
  uintptr_t pc = 0;
  const char* file = nullptr;
  int line = 0;
  Place at, other;
  std::string detail;
};

const char* access_name(Mode mode);
// The thread that runs now.
Place here(Mode mode, uintptr_t pc);
Place here(uintptr_t pc);
// The thread `thread` of the running block.
Place thread_place(int thread, uintptr_t pc);
// Offset of the call that returns to `address`, or 0 if that is not in the kernel library.
uintptr_t call_offset(uintptr_t address);

// Keeps a finding, or counts it if its kind, place and buffer were met before.
void add(Finding finding);
// Whether the last thing reported, counted or kept, is of that kind and by the thread that runs now.
bool last_is(const char* kind);
// Drops the finding that the compiler's index check has just made, if it has.
void forget_index_finding();
// Whether a finding of that kind was kept for a buffer.
bool found(const char* kind, const Buffer* buffer);
void clear_findings();
std::string findings_json();
void append_quoted(std::string& text, const char* value);

// True while a finding is being kept; the timer must not abandon a launch then.
extern volatile bool reporting;

}  // namespace opgold::emulator
