// Whether two accesses that no barrier orders are a race, and what to say of it.
#include <algorithm>

#include "emulator/core/block.h"
#include "emulator/core/excuses.h"
#include "emulator/core/handshake.h"
#include "emulator/core/operations.h"
#include "emulator/core/shadow.h"

namespace opgold::emulator {

namespace {

const BlockInterval* interval_at(uint32_t epoch) {
  auto next = std::upper_bound(call.intervals.begin(), call.intervals.end(), epoch,
                               [](uint32_t value, const BlockInterval& interval) { return value < interval.epoch; });
  return next == call.intervals.begin() ? nullptr : &*(next - 1);
}

const char* earlier_name(const Access& earlier, bool writes) {
  if (!writes) return "read";
  return (earlier.thread & (strong_bit | volatile_bit)) == strong_bit ? "atomic" : "write";
}

// Two atomics, or a write that follows a fence and a volatile access.
bool shake_hands(const Access& earlier, bool earlier_writes, Mode mode) {
  if (!(earlier.thread & strong_bit)) return false;
  if (mode == Mode::read) return (earlier.thread & telling_bit) != 0;
  return earlier_writes || current.tag & telling_bit;
}

bool has_left(int thread) { return (warps[thread / 32].exited >> (thread % 32) & 1) != 0; }

}  // namespace

uint32_t block_at(uint32_t epoch) {
  const BlockInterval* interval = interval_at(epoch);
  return interval ? interval->block : 0;
}

uint32_t block_start_at(uint32_t epoch) {
  const BlockInterval* interval = interval_at(epoch);
  return interval ? interval->epoch : 0;
}

OPGOLD_COLD void perhaps_race(Buffer& buffer, size_t granule, const Access& earlier, bool earlier_writes, size_t offset,
                              size_t size, Mode mode, bool strong, uintptr_t pc) {
  if (strong && shake_hands(earlier, earlier_writes, mode)) return;
  const int thread = earlier.thread & thread_mask;
  const Operation* launch = nullptr;  // another one
  const bool other_block = earlier.epoch < current.block_start;
  if (earlier.epoch < current.launch_start) {
    launch = &operation_at(earlier.epoch);
    if (is_over(*launch)) return;
  } else {
    if (!other_block && (thread == current.thread || ordered_by_warp(thread, earlier.warp_time))) return;
    if (handshake::used && handshake::ordered(earlier)) return;
  }
  if (excuses::ordered(earlier)) return;
  Finding f{"race"};
  f.access = access_name(mode);
  f.buffer = &buffer;
  f.element = static_cast<int64_t>(granule << buffer.granule_bits) / static_cast<int64_t>(buffer.item);
  f.size = size;
  f.pc = call_offset(pc);
  f.at = here(mode, f.pc);
  f.other = thread_place(thread, call_offset(running.library.base + earlier.pc));
  f.other.access = earlier_name(earlier, earlier_writes);
  f.detail = std::string(f.access) + " and " + f.other.access;
  if (launch) {
    f.file = running.request->file;
    f.line = running.request->line;
    f.other.known = launch->is_launch;
    if (launch->is_launch) {
      f.other.block = index_in(block_at(earlier.epoch), launch->grid);
      f.other.thread = index_in(static_cast<uint32_t>(thread), launch->block);
    }
    f.detail += " by " + describe(running_operation()) + " and " + describe(*launch) + ", which no event orders";
  } else if (other_block) {
    f.other.block = block_of(block_at(earlier.epoch));
    f.detail += " by two blocks of one launch";
    if (handshake::used) f.detail += ", with no hand-shake of an atomic between two fences";
  } else {
    f.detail += " by two threads with no barrier between";
    if (has_left(thread)) f.detail += "; that the other has left the kernel orders nothing";
  }
  if (earlier_writes && mode == Mode::write && excuses::same_value(earlier, buffer, granule, offset, size, f)) return;
  add(std::move(f));
}

std::string use_range(Buffer& buffer, size_t offset, size_t size, Mode mode) {
  std::string other;
  if (!buffer.tracked || size == 0) return other;
  const Access now{current.epoch, 0, 0, 0};
  const auto meet = [&](const Access& earlier) {
    if (!other.empty() || earlier.epoch < buffer.fence || earlier.epoch == current.epoch) return;
    const Operation& operation = operation_at(earlier.epoch);
    if (!is_over(operation)) other = describe(operation);
  };
  for (size_t i = offset >> buffer.granule_bits; i <= (offset + size - 1) >> buffer.granule_bits; ++i) {
    Record& record = buffer.shadow[i];
    meet(record.write);
    if (mode == Mode::read) {
      remember_read<false>(buffer, record, now);
      continue;
    }
    for (const Access& read : record.read) meet(read);
    record.write = now;
  }
  return other;
}

}  // namespace opgold::emulator
