// One block: its threads as fibres, which of them may run, and what they wait for.
#pragma once

#include "emulator/core/state.h"

namespace opgold::emulator {

enum class Wait : uint8_t { none, barrier, warp };

struct Thread {
  void* context;  // saved stack pointer; null until it first waits
  char* stack;
  int64_t steps;
  uint16_t warp_time, tag;
  Wait wait;
  // the collective waited in
  WarpOp op;
  const char* name;
  const char* file;
  int line;
  uintptr_t pc;
  uint32_t mask;
  int lane;
  uint64_t value, result;
};

struct Warp {
  uint32_t present, ready, exited, waiting;  // lanes; waiting: in a warp collective
  uint32_t resting;                          // have let the others run first
  bool clocks_used;
  uint16_t clock[32][32];  // clock[i][j]: the latest time of lane j that lane i is ordered after
};

struct Block {
  int size = 0, live = 0, waiting = 0, warp_count = 0;
  uint32_t work = 0;  // warps with ready lanes
  bool resting = false;  // some lane is
  int warp = 0;       // the warp that ran last
  int exited = -1;    // a thread that has exited
  int count = 0, all = 1, result = 0;
};

extern Thread threads[max_threads];
extern Warp warps[max_threads / 32];
extern Block block;

// Runs one block to its end; false if it was abandoned.
bool run_block(int size);
// Leaves the launch for good. Called on a fibre, or as the resume point of a fault.
[[noreturn]] void abandon();
// The running thread waits; returns when it has been made ready.
void wait();
void make_ready(int warp, uint32_t lanes);
void reseed(uint64_t seed);
uint64_t draw();

// Whether the running lane is ordered, by __syncwarp, after `time` of another thread of its warp.
bool ordered_by_warp(int thread, uint16_t time);
// warp.cc: what an exit means for lanes that wait for it.
void lane_exited(int thread);

Index block_of(uint32_t linear);
Index index_in(uint32_t linear, const Index& extent);
// The block that ran at an epoch of this call, and the first epoch of it.
uint32_t block_at(uint32_t epoch);
uint32_t block_start_at(uint32_t epoch);
// `name` is the vendor's name of the call. Returns what the barrier's kind computes.
int wait_at_barrier(Barrier kind, int predicate, const char* name, const char* file, int line, uintptr_t pc);
// barrier_reports.cc
void report_exited();
void report_other_place(const Thread& first, const Thread& other);
void report_stuck();
bool on_call_thread();
bool on_stacks(uintptr_t address);
// Whether an address is in the guard page below the stack of the running thread.
bool in_guard(uintptr_t address);

}  // namespace opgold::emulator
