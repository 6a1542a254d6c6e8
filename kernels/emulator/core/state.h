// The state of the one call, launch, block and thread that run at a time. One mutex (call.cc) guards all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bindings/abi.h"
#include "emulator/core/hooks.h"

namespace opgold::emulator {

enum class Mode { read, write, atomic };

// One past access to an element.
struct Access {
  uint32_t epoch;      // 0: none
  uint32_t pc;         // offset in the kernel library
  uint16_t thread;     // linear index in its block, and the bits below
  uint16_t warp_time;  // the lane's own clock at the time
};
inline constexpr uint16_t strong_bit = 0x8000;      // atomic, or volatile
inline constexpr uint16_t volatile_bit = 0x4000;    // then it is no atomic
inline constexpr uint16_t telling_bit = 0x0800;     // its thread has fenced before
inline constexpr uint16_t same_value_bit = 0x2000;  // made under an annotation
inline constexpr uint16_t ordered_bit = 0x1000;
inline constexpr uint16_t thread_mask = 0x03ff;

// What is remembered of one element: the last writer, and two readers.
struct Record {
  Access write, read[2];
};

// A tensor or shared variable, alone in its slot of the arena.
struct Buffer {
  uintptr_t data;
  size_t size;
  Record* shadow;
  uint32_t init_epoch;  // an element last written before it is uninitialised
  uint32_t fence;       // accesses before it are ordered before everything now
  uint8_t granule_bits;
  bool writable, tracked;
  bool shared, group, present;  // group: shared by a group of an XPU's cores
  // what follows is read only to place, to check canaries and to report
  const char* name;
  const char* dtype;
  uint32_t item;
  int32_t rank;
  int64_t shape[opgold_max_rank];
  uintptr_t page_low, page_high;  // committed pages
  size_t shadow_bytes;
  uint64_t canary;
  const void* owner;
};

inline constexpr int max_threads = 1024;
inline constexpr int tensor_slots = 128;
inline constexpr int shared_slots = 128;
inline constexpr int slot_count = tensor_slots + shared_slots;

// What every access check reads, together in few cache lines.
struct Current {
  uintptr_t stack_low = 0, stack_size = 0;
  uintptr_t arena = 0;
  uintptr_t slots = 0;  // 0 outside a launch, so that host code always takes the slow path
  int shift = 0;
  uint32_t epoch = 1, block_start = 1, launch_start = 1;
  uint16_t thread = 0, warp_time = 1;
  uint16_t tag = 0;  // the thread with the bits of its annotations
  int64_t steps = 0;
  uintptr_t library_base = 0;
  Index thread_index{}, block_index{}, block_extent{1, 1, 1}, grid_extent{1, 1, 1};
};

// The library that holds a kernel, as the loader placed it.
struct Library {
  const char* path = "";
  uintptr_t base = 0, end = 0;
};

struct BlockInterval {
  uint32_t epoch, block;
};

struct Launch {
  const LaunchRequest* request = nullptr;  // null outside a launch
  Library library;
  size_t static_shared = 0, group_shared = 0;
  int shared_variables = 0;
  uint64_t dynamic_serial = 0;
  uint64_t serial = 0;
  bool abandoned = false;
};

struct LaunchEntry {
  std::string kernel;
  Index grid, block;
  Machine machine = Machine::cuda;
  size_t local_bytes = 0, shared_bytes = 0;  // XPU: the most that one core, and one cluster, used
};

struct Call {
  bool active = false;
  opgold_options options{};
  int status = success;    // last error
  bool abandoned = false;  // a launch of this call did not end: later ones are refused
  int tensor_count = 0;
  void* stream = nullptr;  // the caller's
  std::vector<LaunchEntry> launches;
  std::vector<BlockInterval> intervals;  // recovers a block from an epoch
};

extern Current current;
extern Launch running;
extern Call call;
extern Buffer buffers[slot_count];

inline bool on_xpu() { return running.request && running.request->machine == Machine::xpu; }
// What a launch's unit of work, and what shares its memory, is called.
inline const char* thread_word() { return on_xpu() ? "core" : "thread"; }
inline const char* block_word() { return on_xpu() ? "cluster" : "block"; }

}  // namespace opgold::emulator

#define OPGOLD_CALLER (reinterpret_cast<uintptr_t>(__builtin_return_address(0)))
#define OPGOLD_COLD __attribute__((noinline, cold))
