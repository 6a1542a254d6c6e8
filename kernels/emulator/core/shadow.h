// The check of one access: inside its buffer? allowed? initialised? ordered after what other threads did?
#pragma once

#include "emulator/core/state.h"

namespace opgold::emulator {

// The cold ends of the check; each reports and lets the access happen.
void outside_arena(uintptr_t address, size_t size, Mode mode, uintptr_t pc);
// The same once it is known that no buffer of the arena is meant, and that device code runs.
void outside_memory(uintptr_t address, size_t size, Mode mode, uintptr_t pc);
void outside_buffer(Buffer& buffer, uintptr_t address, size_t size, Mode mode, uintptr_t pc);
void read_only(Buffer& buffer, uintptr_t address, size_t size, Mode mode, uintptr_t pc);
void uninitialised(Buffer& buffer, size_t granule, size_t size, Mode mode, uintptr_t pc);
// races.cc: reports unless they shake hands, or something other than a barrier orders them.
void perhaps_race(Buffer& buffer, size_t granule, const Access& earlier, bool earlier_writes, size_t offset, size_t size,
                  Mode mode, bool strong, uintptr_t pc);
// Splits each record, so that the granule is at most `size` bytes.
void refine(Buffer& buffer, size_t size);
void out_of_steps(uintptr_t pc);

// races.cc: records what a copy or fill does with bytes. Returns another stream's operation that may be at them, or nothing.
std::string use_range(Buffer& buffer, size_t offset, size_t size, Mode mode);
bool initialised(const Buffer& buffer, size_t offset, size_t size);

inline bool surely_ordered(const Buffer& buffer, const Access& earlier) {
  if (earlier.epoch < buffer.fence) return true;  // another launch, or nothing
  if (earlier.epoch < current.block_start) return false;
  return earlier.epoch != current.epoch || earlier.thread == current.tag;
}

// Keeps two readers such that a later writer meets one that is not itself, and one of another block if there is any. A
// strong read does not hide the same thread's plain one.
template <bool strong>
inline void remember_read(const Buffer& buffer, Record& record, const Access& now) {
  Access& first = record.read[0];
  if (first.epoch >= buffer.fence) {
    if (first.epoch < current.block_start) {
      record.read[1] = first;
    } else if (first.epoch == current.epoch && (first.thread & thread_mask) != (now.thread & thread_mask)) {
      Access& second = record.read[1];
      if (second.epoch < buffer.fence || second.epoch >= current.block_start) second = now;
      return;
    } else if (strong && first.epoch == current.epoch && !(first.thread & strong_bit) && first.warp_time == now.warp_time) {
      return;
    }
  }
  first = now;
}

// `strong`: an atomic access, or a volatile one that two threads may shake hands by.
template <Mode mode, bool strong = mode == Mode::atomic>
inline __attribute__((always_inline)) void check(uintptr_t address, size_t size, uintptr_t pc) {
  if (address - current.stack_low < current.stack_size) return;
  const uintptr_t slot = (address - current.arena) >> current.shift;
  if (__builtin_expect(slot >= current.slots, 0)) return outside_arena(address, size, mode, pc);
  if (__builtin_expect(--current.steps < 0, 0)) out_of_steps(pc);
  Buffer& buffer = buffers[slot];
  const size_t offset = address - buffer.data;
  if (__builtin_expect(offset > buffer.size || size > buffer.size - offset || !buffer.present, 0))
    return outside_buffer(buffer, address, size, mode, pc);
  if (mode != Mode::read && __builtin_expect(!buffer.writable, 0)) return read_only(buffer, address, size, mode, pc);
  if (!buffer.tracked) return;
  if (__builtin_expect(size < (size_t{1} << buffer.granule_bits), 0)) refine(buffer, size);

  const auto place = static_cast<uint32_t>(pc - current.library_base);
  constexpr int bits = !strong ? 0 : mode == Mode::atomic ? strong_bit : strong_bit | volatile_bit;
  const auto thread = static_cast<uint16_t>(current.tag | bits);
  const Access now{current.epoch, place, thread, current.warp_time};
  const size_t last = (offset + size - 1) >> buffer.granule_bits;
  for (size_t i = offset >> buffer.granule_bits; i <= last; ++i) {
    Record& record = buffer.shadow[i];
    if (mode != Mode::write && __builtin_expect(record.write.epoch < buffer.init_epoch, 0))
      uninitialised(buffer, i, size, mode, pc);
    if (__builtin_expect(!surely_ordered(buffer, record.write), 0))
      perhaps_race(buffer, i, record.write, true, offset, size, mode, strong, pc);
    if (mode == Mode::read) {
      remember_read<strong>(buffer, record, now);
    } else {
      for (const Access& read : record.read)
        if (__builtin_expect(!surely_ordered(buffer, read), 0))
          perhaps_race(buffer, i, read, false, offset, size, mode, strong, pc);
      // A strong write does not hide the same thread's plain one: others' strong accesses still race with that one.
      if (!strong || record.write.epoch != now.epoch || record.write.thread & strong_bit ||
          (record.write.thread & thread_mask) != current.thread || record.write.warp_time != now.warp_time)
        record.write = now;
    }
  }
}

}  // namespace opgold::emulator
