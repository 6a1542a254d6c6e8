// What is wrong with threads that wait: for others that left, at other places, or for what will not come.
#include <cstring>

#include "emulator/core/block.h"
#include "emulator/core/findings.h"

namespace opgold::emulator {

OPGOLD_COLD void report_exited() {
  const Thread& thread = threads[current.thread];
  const Thread* waiting = &thread;
  if (thread.wait != Wait::barrier)
    for (int i = 0; i < block.size; ++i)
      if (threads[i].wait == Wait::barrier) {
        waiting = &threads[i];
        break;
      }
  Finding f{"barrier"};
  f.file = waiting->file;
  f.line = waiting->line;
  f.pc = waiting->pc;
  f.at = thread_place(static_cast<int>(waiting - threads), f.pc);
  f.other = thread_place(block.exited, 0);
  f.detail = "waited for by " + std::to_string(block.live) + " of " + std::to_string(block.size) +
             ' ' + thread_word() + "s; the others had left the kernel";
  add(std::move(f));
}

OPGOLD_COLD void report_other_place(const Thread& first, const Thread& other) {
  Finding f{"barrier"};
  f.file = first.file;
  f.line = first.line;
  f.pc = first.pc;
  f.at = thread_place(static_cast<int>(&first - threads), f.pc);
  f.other = thread_place(static_cast<int>(&other - threads), other.pc);
  f.detail = std::string(thread_word()) + "s of one " + block_word() + " wait at different barriers (lines " +
             std::to_string(first.line) + " and " + std::to_string(other.line) + ")";
  add(std::move(f));
}

// Nobody can run, and not everybody is done.
OPGOLD_COLD void report_stuck() {
  const Thread *at_warp = nullptr, *at_barrier = nullptr;
  for (int i = block.size; i-- > 0;) {
    if (threads[i].wait == Wait::warp) at_warp = &threads[i];
    if (threads[i].wait == Wait::barrier) at_barrier = &threads[i];
  }
  const Thread& waiting = at_barrier ? *at_barrier : *at_warp;
  Finding f{at_barrier ? "barrier" : "warp"};
  f.file = waiting.file;
  f.line = waiting.line;
  f.pc = waiting.pc;
  f.at = thread_place(static_cast<int>(&waiting - threads), f.pc);
  if (at_barrier && at_warp) {
    f.other = thread_place(static_cast<int>(at_warp - threads), at_warp->pc);
    f.detail = std::string("threads wait at a barrier while others wait in ") + at_warp->name + " (line " +
               std::to_string(at_warp->line) + ")";
  } else {
    const int first = static_cast<int>(&waiting - threads);
    const Warp& warp = warps[first / 32];
    const uint32_t missing = waiting.mask & warp.present & ~warp.waiting;
    f.detail = std::string(waiting.name) + " waits for lanes of its mask that do not come";
    if (!missing) {
      for (uint32_t lanes = waiting.mask & warp.waiting; lanes; lanes &= lanes - 1) {
        const Thread& other = threads[first / 32 * 32 + __builtin_ctz(lanes)];
        if (other.op == waiting.op && other.mask == waiting.mask) continue;
        f.other = thread_place(static_cast<int>(&other - threads), other.pc);
        f.detail = std::string(waiting.name) + " waits for a lane that waits in " + other.name +
                   " with another mask (line " + std::to_string(other.line) + ")";
        break;
      }
    }
  }
  add(std::move(f));
}

}  // namespace opgold::emulator
