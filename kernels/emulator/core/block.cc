// Schedules the threads of a block, and implements its barrier.
#include "emulator/core/block.h"

#include <cstring>
#include <stdexcept>

#include "emulator/core/excuses.h"
#include "emulator/core/fibre.h"
#include "emulator/core/findings.h"
#include "emulator/core/handshake.h"
#include "emulator/core/xpu/cores.h"

namespace opgold::emulator {

Thread threads[max_threads];
Warp warps[max_threads / 32];
Block block;

namespace {

void* host_context = nullptr;
bool abandoned = false;
uint64_t random_state = 1;
const void* polled_address = nullptr;
int polls = 0;  // of it, by the running thread
constexpr int patience = 64;

int pick_bit(uint32_t bits) {
  switch (call.options.schedule) {
    case opgold_descending: return 31 - __builtin_clz(bits);
    case opgold_random: {
      const auto turn = static_cast<unsigned>(draw() >> 59);
      const uint32_t turned = turn ? bits >> turn | bits << (32 - turn) : bits;
      return (__builtin_ctz(turned) + static_cast<int>(turn)) & 31;
    }
    default: return __builtin_ctz(bits);
  }
}

// Those that let the others run first go on.
bool wake() {
  if (!block.resting) return false;
  block.resting = false;
  for (int w = 0; w < block.warp_count; ++w) {
    make_ready(w, warps[w].resting);
    warps[w].resting = 0;
  }
  return true;
}

// The next thread to run, taken out of the ready ones; -1 if none is ready.
int pick() {
  if (!block.work && !wake()) return -1;
  // Lanes of one warp run in turn, so that a collective completes before the next warp's cache lines are needed.
  if (!warps[block.warp].ready || call.options.schedule == opgold_random) block.warp = pick_bit(block.work);
  Warp& warp = warps[block.warp];
  const int lane = pick_bit(warp.ready);
  warp.ready &= ~(1u << lane);
  if (!warp.ready) block.work &= ~(1u << block.warp);
  return block.warp * 32 + lane;
}

void enter(int index) {
  Thread& thread = threads[index];
  current.thread = static_cast<uint16_t>(index);
  current.tag = thread.tag;
  current.warp_time = thread.warp_time;
  polls = 0;
  current.steps = thread.steps;
  current.stack_low = reinterpret_cast<uintptr_t>(thread.stack);
  const Index& extent = current.block_extent;
  const auto linear = static_cast<unsigned>(index);
  if (extent.y == 1 && extent.z == 1) current.thread_index = {linear, 0, 0};
  else current.thread_index = index_in(linear, extent);
}

// Lets everybody go. The barrier is the only thing that orders all memory of a block.
void release() {
  const bool strict = !xpu::lax_barriers();
  if (block.live != block.size && strict) report_exited();
  const Thread* first = nullptr;
  for (int i = 0; i < block.size; ++i) {
    Thread& thread = threads[i];
    if (thread.wait != Wait::barrier) continue;
    if (!first) first = &thread;
    else if (strict && (thread.line != first->line || strcmp(thread.file, first->file) != 0))
      report_other_place(*first, thread);
    thread.wait = Wait::none;
  }
  for (int w = 0; w < block.warp_count; ++w) make_ready(w, warps[w].present & ~warps[w].exited);
  block.waiting = 0;
  if (on_xpu()) xpu::pass_barrier();
  if (handshake::used) handshake::pass_barrier();
  ++current.epoch;
}

void exit_thread() {
  const int index = current.thread;
  if (excuses::waiting) excuses::settle();
  Warp& warp = warps[index / 32];
  warp.exited |= 1u << (index % 32);
  block.exited = index;
  --block.live;
  if (__builtin_expect(warp.waiting != 0, 0)) lane_exited(index);
  if (block.waiting && block.waiting == block.live) release();
}

// The life of a stack: it runs threads until the next one to run has a stack of its own.
void fibre_main() {
  for (;;) {
    const bool is_core = on_xpu();
    if (is_core) xpu::begin_core();
    running.request->run(running.request->closure);
    if (is_core) xpu::end_core();
    exit_thread();
    char* stack = threads[current.thread].stack;
    const int next = pick();
    void* abandoned_context;
    if (next < 0) {
      if (block.live) {
        report_stuck();
        abandoned = true;
      }
      return_stack(stack);
      opgold_emulator_switch(&abandoned_context, host_context);
    }
    Thread& thread = threads[next];
    if (!thread.context) {
      thread.stack = stack;
      enter(next);
      continue;
    }
    return_stack(stack);
    enter(next);
    opgold_emulator_switch(&abandoned_context, thread.context);
  }
}

void begin_block(int size) {
  handshake::begin_block();
  block = {};
  block.size = block.live = size;
  block.warp_count = (size + 31) / 32;
  for (int w = 0; w < block.warp_count; ++w) {
    Warp& warp = warps[w];
    const int lanes = size - w * 32;
    warp.present = lanes >= 32 ? ~0u : (1u << lanes) - 1;
    warp.exited = warp.waiting = warp.resting = 0;
    warp.clocks_used = false;
    warp.ready = 0;
    make_ready(w, warp.present);
  }
  if (call.options.schedule == opgold_descending) block.warp = block.warp_count - 1;
  for (int i = 0; i < size; ++i) {
    Thread& thread = threads[i];
    thread.context = nullptr;
    thread.wait = Wait::none;
    thread.warp_time = 1;
    thread.tag = static_cast<uint16_t>(i);
    thread.steps = call.options.step_limit;
  }
}

}  // namespace

void reseed(uint64_t seed) { random_state = seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du; }

uint64_t draw() {
  uint64_t x = random_state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  random_state = x ? x : 1;
  return x * 0x2545f4914f6cdd1du;
}

void abandon() {
  abandoned = true;
  void* left;
  opgold_emulator_switch(&left, host_context);
  __builtin_unreachable();
}

void make_ready(int warp, uint32_t lanes) {
  if (!lanes) return;
  warps[warp].ready |= lanes;
  block.work |= 1u << warp;
}

[[noreturn]] OPGOLD_COLD void out_of_stacks() {
  Finding f{"stack"};
  f.at = here(0);
  f.detail = "the emulator cannot map a stack for each waiting thread; see vm.max_map_count";
  add(std::move(f));
  abandon();
}

void wait() {
  if (__builtin_expect(excuses::waiting, 0)) excuses::settle();
  const int self = current.thread;
  Thread& thread = threads[self];
  thread.steps = current.steps;
  const int next = pick();
  if (next < 0) {
    report_stuck();
    abandon();
  }
  if (next == self) return enter(self);
  Thread& chosen = threads[next];
  if (!chosen.context) {
    chosen.stack = take_stack();
    if (!chosen.stack) out_of_stacks();
    enter(next);
    opgold_emulator_switch(&thread.context, fresh_context(chosen.stack, fibre_main));
  } else {
    enter(next);
    opgold_emulator_switch(&thread.context, chosen.context);
  }
}

bool run_block(int size) {
  begin_block(size);
  abandoned = false;
  const int first = pick();
  threads[first].stack = take_stack();
  if (!threads[first].stack) throw std::runtime_error("the emulator cannot map a stack");
  enter(first);
  current.stack_size = on_xpu() ? 0 : stack_size;  // an XPU's stacks are memory that is looked at
  opgold_emulator_switch(&host_context, fresh_context(threads[first].stack, fibre_main));
  current.stack_size = 0;
  if (abandoned) reclaim_stacks();
  return !abandoned;
}

int barrier(Barrier kind, int predicate, const char* file, int line) {
  if (!running.request) return 0;
  return wait_at_barrier(kind, predicate, "__syncthreads", file, line, call_offset(OPGOLD_CALLER));
}

int wait_at_barrier(Barrier kind, int predicate, const char* name, const char* file, int line, uintptr_t pc) {
  Thread& thread = threads[current.thread];
  thread.wait = Wait::barrier;
  thread.name = name;
  thread.file = file;
  thread.line = line;
  thread.pc = pc;
  if (++block.waiting == 1) {
    block.count = 0;
    block.all = 1;
  }
  block.count += predicate != 0;
  block.all &= predicate != 0;
  if (block.waiting == block.live) {
    release();
    block.result = kind == Barrier::count ? block.count : kind == Barrier::all ? block.all : block.count != 0;
  }
  wait();
  return block.result;
}

void yield() {
  if (!running.request || (!block.work && !block.resting)) return;
  block.resting = true;
  warps[current.thread / 32].resting |= 1u << (current.thread % 32);
  wait();
}

void polled(const void* address) {
  if (address != polled_address) polls = 0;
  polled_address = address;
  if (++polls < patience) return;
  polls = 0;
  yield();
}

Index index_in(uint32_t linear, const Index& extent) {
  return {linear % extent.x, linear / extent.x % extent.y, linear / extent.x / extent.y};
}

Index block_of(uint32_t linear) { return index_in(linear, current.grid_extent); }

bool on_stacks(uintptr_t address) {
  const StackRange range = all_stacks();
  return address - range.low < range.high - range.low;
}

bool in_guard(uintptr_t address) {
  return running.request && address < current.stack_low && address >= current.stack_low - guard_size();
}

}  // namespace opgold::emulator
