// Warp collectives: shuffles, votes, matches, reductions and __syncwarp.
#include <cstring>
#include <string>

#include "emulator/core/block.h"
#include "emulator/core/findings.h"
#include "emulator/core/handshake.h"

namespace opgold::emulator {

namespace {

std::string hex(uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

OPGOLD_COLD void report(const Thread& thread, std::string detail, const Thread* other = nullptr) {
  Finding f{"warp"};
  f.file = thread.file;
  f.line = thread.line;
  f.pc = thread.pc;
  f.at = thread_place(static_cast<int>(&thread - threads), f.pc);
  if (other) f.other = thread_place(static_cast<int>(other - threads), other->wait == Wait::warp ? other->pc : 0);
  f.detail = std::string(thread.name) + ": " + std::move(detail);
  add(std::move(f));
}

bool same_place(const Thread& a, const Thread& b) {
  return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

uint64_t reduce(WarpOp op, uint64_t a, uint64_t b) {
  const auto signed_a = static_cast<int32_t>(a), signed_b = static_cast<int32_t>(b);
  switch (op) {
    case WarpOp::add: return static_cast<uint32_t>(a + b);
    case WarpOp::min: return a < b ? a : b;
    case WarpOp::max: return a > b ? a : b;
    case WarpOp::min_signed: return signed_a < signed_b ? a : b;
    case WarpOp::max_signed: return signed_a > signed_b ? a : b;
    case WarpOp::bit_and: return a & b;
    case WarpOp::bit_or: return a | b;
    default: return a ^ b;
  }
}

// Only __syncwarp orders memory: each lane of the mask learns what every other one knows.
void synchronise(Warp& warp, Thread* lanes, uint32_t mask) {
  if (!warp.clocks_used) {
    memset(warp.clock, 0, sizeof warp.clock);
    warp.clocks_used = true;
  }
  uint16_t joined[32] = {};
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const int i = __builtin_ctz(rest);
    warp.clock[i][i] = lanes[i].warp_time;
    for (int j = 0; j < 32; ++j) joined[j] = joined[j] > warp.clock[i][j] ? joined[j] : warp.clock[i][j];
  }
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const int i = __builtin_ctz(rest);
    memcpy(warp.clock[i], joined, sizeof joined);
    if (lanes[i].warp_time != UINT16_MAX) ++lanes[i].warp_time;  // saturates: later races may be missed, none invented
  }
  if (handshake::used) handshake::pass_syncwarp(static_cast<int>(lanes - threads) / 32, mask);
}

void finish(Warp& warp, Thread* lanes, uint32_t mask) {
  const Thread& first = lanes[__builtin_ctz(mask)];
  uint64_t all = 0;
  switch (first.op) {
    case WarpOp::sync: synchronise(warp, lanes, mask); break;
    case WarpOp::shuffle:
      for (uint32_t rest = mask; rest; rest &= rest - 1) {
        Thread& thread = lanes[__builtin_ctz(rest)];
        if (!(mask >> thread.lane & 1)) {
          report(thread, "reads lane " + std::to_string(thread.lane) + ", which " +
                             (warp.exited >> thread.lane & 1    ? "has left the kernel"
                              : warp.present >> thread.lane & 1 ? "is not in the mask " + hex(thread.mask)
                                                                : "does not exist in this block"));
          thread.result = 0xbadbadbadbadbadbu;
          continue;
        }
        thread.result = lanes[thread.lane].value;
      }
      return;
    case WarpOp::match:
      for (uint32_t rest = mask; rest; rest &= rest - 1) {
        Thread& thread = lanes[__builtin_ctz(rest)];
        thread.result = 0;
        for (uint32_t others = mask; others; others &= others - 1)
          if (lanes[__builtin_ctz(others)].value == thread.value) thread.result |= others & -others;
      }
      return;
    case WarpOp::ballot:
      for (uint32_t rest = mask; rest; rest &= rest - 1)
        if (lanes[__builtin_ctz(rest)].value) all |= rest & -rest;
      break;
    default:
      all = first.value;
      for (uint32_t rest = mask & (mask - 1); rest; rest &= rest - 1)
        all = reduce(first.op, all, lanes[__builtin_ctz(rest)].value);
  }
  for (uint32_t rest = mask; rest; rest &= rest - 1) lanes[__builtin_ctz(rest)].result = all;
}

// Lets the lanes of `thread`'s mask go if all have come.
void try_to_finish(Thread& thread) {
  const int index = static_cast<int>(&thread - threads) / 32;
  Warp& warp = warps[index];
  Thread* lanes = threads + index * 32;
  const uint32_t mask = thread.mask & warp.present & ~warp.exited;
  if (mask & ~warp.waiting) return;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const Thread& other = lanes[__builtin_ctz(rest)];
    if (other.mask == thread.mask && other.op == thread.op) continue;
    if (other.mask == thread.mask) {
      report(thread, std::string("another lane of its mask waits in ") + other.name + " (line " +
                         std::to_string(other.line) + ")", &other);
      abandon();
    }
    return;  // a lane of another group: it may yet arrive here
  }
  const Thread& first = lanes[__builtin_ctz(mask)];
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const Thread& other = lanes[__builtin_ctz(rest)];
    if (same_place(first, other)) continue;
    report(first, "lanes of one mask meet in different places (lines " + std::to_string(first.line) + " and " +
                      std::to_string(other.line) + ")", &other);
    break;
  }
  finish(warp, lanes, mask);
  for (uint32_t rest = mask; rest; rest &= rest - 1) lanes[__builtin_ctz(rest)].wait = Wait::none;
  warp.waiting &= ~mask;
  make_ready(index, mask);
}

}  // namespace

uint64_t warp(WarpOp op, const char* name, uint32_t mask, uint64_t value, int lane, const char* file, int line) {
  if (!running.request) return value;
  const int index = current.thread / 32, own = current.thread % 32;
  Warp& warp = warps[index];
  Thread& thread = threads[current.thread];
  thread.op = op;
  thread.name = name;
  thread.file = file;
  thread.line = line;
  thread.pc = call_offset(OPGOLD_CALLER);
  thread.mask = mask;
  thread.lane = lane;
  thread.value = value;
  if (!(mask >> own & 1)) {
    report(thread, "lane " + std::to_string(own) + " is not in its mask " + hex(mask));
    return value;
  }
  if (const uint32_t gone = mask & warp.exited)
    report(thread, "lane " + std::to_string(__builtin_ctz(gone)) + " of its mask has left the kernel",
           &threads[index * 32 + __builtin_ctz(gone)]);
  thread.wait = Wait::warp;
  warp.waiting |= 1u << own;
  try_to_finish(thread);
  wait();
  return thread.result;
}

void lane_exited(int thread) {
  const int index = thread / 32;
  for (uint32_t rest = warps[index].waiting; rest; rest &= rest - 1) {
    if (!(warps[index].waiting & rest & -rest)) continue;  // released by the group before
    Thread& other = threads[index * 32 + __builtin_ctz(rest)];
    if (!(other.mask >> (thread % 32) & 1)) continue;
    report(other, "lane " + std::to_string(thread % 32) + " of its mask has left the kernel", &threads[thread]);
    try_to_finish(other);
  }
}

bool ordered_by_warp(int thread, uint16_t time) {
  if (thread / 32 != current.thread / 32) return false;
  const Warp& warp = warps[thread / 32];
  return warp.clocks_used && warp.clock[current.thread % 32][thread % 32] >= time;
}

uint32_t active_lanes() {
  const Warp& warp = warps[current.thread / 32];
  return warp.present & ~warp.exited;
}

}  // namespace opgold::emulator
