// The cores of the cluster that runs: what each has in flight, and how often it has fenced.
#pragma once

#include <cstring>
#include <vector>

#include "emulator/core/findings.h"
#include "emulator/core/state.h"

namespace opgold::emulator::xpu {

inline constexpr int max_cores = 64;
inline constexpr int max_clusters = 64;  // of the device that is imitated; real ones have 8 or 12
inline constexpr size_t local_limit = 8 * 1024;
inline constexpr size_t shared_limit = 256 * 1024;
inline constexpr size_t group_limit = 28 * 1024;

// One copy between memories that has been started and not waited for.
struct Transfer {
  const char* name;
  Space from, to;
  uintptr_t source, target;
  size_t bytes;
  uintptr_t pc;
  bool copied;  // when it was started: the early mode

  bool on_chip(Space space) const { return from == space || to == space; }
};

struct Core {
  uint32_t clock;  // of its local memory: unlike any other core's, and new after each fence
  uint16_t group_fences, group_at_barrier, shared_fences, global_fences;
  uint16_t shared_at_barrier, global_at_barrier;  // as they stood at the last barrier
  uintptr_t entry;                                // where its stack began
  uintptr_t deepest;
  std::vector<Transfer> outstanding;
};
extern Core cores[max_cores];
inline Core& self() { return cores[current.thread]; }

// Makes the copies that the running core has not waited for yet.
void finish_all(uintptr_t live);
// Where the local memory of whoever called this hook begins.
#define OPGOLD_LIVE (reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) + 2 * sizeof(void*))
// Called on the core's own stack as its life begins and ends.
void begin_core();
void end_core();
// Every core of the cluster has arrived.
void pass_barrier();
void begin_launch();
void end_launch();

// Whether a barrier counts cores that have ended as arrived, and lets cores wait at different calls.
inline bool lax_barriers() { return on_xpu() && call.options.barriers == opgold_device_barriers; }
// Whether transfers that nobody waits for are made as late as they may be.
inline bool late_copies() { return call.options.copies == opgold_late; }

// The space in which an address lies for the running core; `buffer` is null for local memory.
struct Location {
  bool known = false;
  Space space = Space::local;
  Buffer* buffer = nullptr;
};
Location locate(uintptr_t address);
const char* space_name(Space space);

inline void note_depth(uintptr_t frame) {
  Core& core = self();
  if (frame < core.deepest) core.deepest = frame;
}

// Whether a buffer is an array of numbers, and no struct whose members differ in width.
inline bool has_elements(const Buffer& buffer) { return strcmp(buffer.dtype, "struct") != 0; }

// access.cc: a load or store that the compiler's instrumentation saw.
void access(uintptr_t address, size_t size, Mode mode, uintptr_t pc);
// access.cc: what an access, or a transfer's far side, finds in the shadow of a buffer.
void check_shadow(Buffer& buffer, size_t offset, size_t size, bool writes, bool by_transfer, uintptr_t pc);
// access.cc: a write by a transfer counts from its end.
void finish_write(uintptr_t address, size_t size, uintptr_t pc);
// Whether [address, address + size) meets what a transfer of the core still reads or writes; reports if so.
bool in_flight(uintptr_t address, size_t size, bool writes, uintptr_t pc, const char* what);

// local.cc: marks of the bytes of local memory.
void mark_local(uintptr_t address, size_t size, bool writes);
enum class Hazard { none, stored, read };
// What was last done to some byte by a plain access since the core's last fence, stores first.
Hazard unfenced(uintptr_t address, size_t size);

Finding finding(const char* kind, Mode mode, uintptr_t address, size_t size, uintptr_t pc);

}  // namespace opgold::emulator::xpu
