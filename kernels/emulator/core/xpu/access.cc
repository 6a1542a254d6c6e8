// Loads and stores of device code on an XPU: which memory, inside it, and ordered after what the other cores did there?
#include <algorithm>

#include "emulator/core/block.h"
#include "emulator/core/excuses.h"
#include "emulator/core/fibre.h"
#include "emulator/core/shadow.h"
#include "emulator/core/xpu/cores.h"

namespace opgold::emulator::xpu {

namespace {

constexpr uint16_t transfer_bit = strong_bit;  // of Access::thread: it was made by a transfer

bool overlap(uintptr_t a, size_t a_size, uintptr_t b, size_t b_size) { return a < b + b_size && b < a + a_size; }

uint16_t fences(const Core& core, const Buffer& buffer) {
  return buffer.group ? core.group_fences : buffer.shared ? core.shared_fences : core.global_fences;
}

uint16_t fences_at_barrier(const Core& core, const Buffer& buffer) {
  return buffer.group ? core.group_at_barrier : buffer.shared ? core.shared_at_barrier : core.global_at_barrier;
}

const char* what(bool writes, bool by_transfer) {
  return by_transfer ? writes ? "a transfer into it" : "a transfer from it" : writes ? "store" : "load";
}

OPGOLD_COLD void report(const char* kind, Buffer& buffer, size_t granule, const Access& earlier, bool earlier_writes,
                        bool writes, size_t offset, size_t size, uintptr_t pc, std::string detail) {
  const bool race = strcmp(kind, "race") == 0;
  if (race && excuses::ordered(earlier)) return;
  const uintptr_t address = buffer.data + (granule << buffer.granule_bits);
  Finding f = finding(kind, writes ? Mode::write : Mode::read, address, size, pc);
  const int thread = earlier.thread & thread_mask;
  f.other = thread_place(thread, call_offset(running.library.base + earlier.pc));
  f.other.access = earlier_writes ? "write" : "read";
  f.other.block = block_of(block_at(earlier.epoch));
  f.detail = std::move(detail);
  if (race && earlier_writes && writes && excuses::same_value(earlier, buffer, granule, offset, size, f)) return;
  add(std::move(f));
}

// Reports unless what an earlier access did is known to be over.
void check_order(Buffer& buffer, size_t granule, const Access& earlier, bool earlier_writes, bool writes,
                 bool by_transfer, size_t offset, size_t size, uintptr_t pc) {
  if (earlier.epoch < buffer.fence) return;  // another launch, or nothing
  const int core = earlier.thread & thread_mask;
  const bool transferred = (earlier.thread & transfer_bit) != 0;
  const auto say = [&](const char* kind, std::string detail) {
    report(kind, buffer, granule, earlier, earlier_writes, writes, offset, size, pc, std::move(detail));
  };
  const std::string both = std::string(what(writes, by_transfer)) + " after " + what(earlier_writes, transferred);
  if (earlier.epoch < current.block_start) return say("race", both + " by two clusters of one launch");
  if (core == current.thread) {
    // A finished transfer is over; a plain access is over for transfers only after a fence.
    if (by_transfer && !transferred && earlier.warp_time == fences(self(), buffer))
      say("fence", both + " of the same bytes with no mfence between");
    return;
  }
  if (earlier.epoch == current.epoch) return say("race", both + " by two cores with no barrier between");
  if (earlier_writes && !transferred && fences_at_barrier(cores[core], buffer) == earlier.warp_time)
    say("fence", both + ": the core that stored has not fenced before the barrier");
}

// Whether a plain load of the running core still counts: a transfer from the same bytes must not take its place.
bool still_loading(const Record& record, const Access& now) {
  for (const Access& read : record.read)
    if (read.epoch >= current.block_start && (read.thread & ~ordered_bit) == current.thread && read.warp_time == now.warp_time) return true;
  return false;
}

void check_width(Buffer& buffer, size_t offset, size_t size, Mode mode, uintptr_t pc) {
  if (!has_elements(buffer)) return;
  if (offset % buffer.item == 0 && size % buffer.item == 0) return;
  Finding f = finding("width", mode, buffer.data + offset, size, pc);
  f.detail = std::to_string(size) + "-byte " + f.access + " at byte " + std::to_string(offset % buffer.item) +
             " of an element of " + std::to_string(buffer.item) + " bytes";
  add(std::move(f));
}

}  // namespace

bool in_flight(uintptr_t address, size_t size, bool writes, uintptr_t pc, const char* what_now) {
  for (const Transfer& transfer : self().outstanding) {
    const bool meets_target = overlap(address, size, transfer.target, transfer.bytes);
    if (!meets_target && !(writes && overlap(address, size, transfer.source, transfer.bytes))) continue;
    Finding f = finding("in-flight", writes ? Mode::write : Mode::read, address, size, pc);
    f.other = here(transfer.pc);
    f.other.access = meets_target ? "write" : "read";
    f.detail = std::string(what_now) + (meets_target ? " of what " : " over what ") + transfer.name +
               (meets_target ? " still writes" : " still reads");
    add(std::move(f));
    return true;
  }
  return false;
}

void check_shadow(Buffer& buffer, size_t offset, size_t size, bool writes, bool by_transfer, uintptr_t pc) {
  if (!buffer.tracked || size == 0) return;
  if (size < (size_t{1} << buffer.granule_bits)) refine(buffer, size);
  const auto place = static_cast<uint32_t>(pc - current.library_base);
  const auto thread = static_cast<uint16_t>(by_transfer ? current.tag | transfer_bit : current.tag);
  const Access now{current.epoch, place, thread, fences(self(), buffer)};
  const size_t last = (offset + size - 1) >> buffer.granule_bits;
  for (size_t i = offset >> buffer.granule_bits; i <= last; ++i) {
    Record& record = buffer.shadow[i];
    if (!writes && record.write.epoch < buffer.init_epoch) uninitialised(buffer, i, size, Mode::read, pc);
    check_order(buffer, i, record.write, true, writes, by_transfer, offset, size, pc);
    if (!writes) {
      if (!by_transfer || !still_loading(record, now)) remember_read<false>(buffer, record, now);
    } else {
      for (const Access& read : record.read) check_order(buffer, i, read, false, writes, by_transfer, offset, size, pc);
      record.write = now;
    }
  }
}

void finish_write(uintptr_t address, size_t size, uintptr_t pc) {
  Buffer* buffer = locate(address).buffer;
  if (!buffer || !buffer->tracked || size == 0) return;
  const Access now{current.epoch, static_cast<uint32_t>(pc), static_cast<uint16_t>(current.thread | transfer_bit),
                   fences(self(), *buffer)};
  const size_t offset = address - buffer->data;
  for (size_t i = offset >> buffer->granule_bits; i <= (offset + size - 1) >> buffer->granule_bits; ++i)
    buffer->shadow[i].write = now;
}

void access(uintptr_t address, size_t size, Mode mode, uintptr_t pc) {
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (frame - current.stack_low >= stack_size) return;  // not device code
  note_depth(frame);
  if (--current.steps < 0) out_of_steps(pc);
  const bool writes = mode != Mode::read;
  const bool flying = !self().outstanding.empty();
  if (address - current.stack_low < stack_size) {
    if (flying) in_flight(address, size, writes, pc, writes ? "store" : "load");
    return mark_local(address, size, writes);
  }
  const uintptr_t slot = (address - current.arena) >> current.shift;
  if (slot >= slot_count) return outside_memory(address, size, mode, pc);
  Buffer& buffer = buffers[slot];
  const size_t offset = address - buffer.data;
  if (!buffer.present || offset > buffer.size || size > buffer.size - offset)
    return outside_buffer(buffer, address, size, mode, pc);
  if (writes && !buffer.writable) return read_only(buffer, address, size, mode, pc);
  check_width(buffer, offset, size, mode, pc);
  if (flying) in_flight(address, size, writes, pc, writes ? "store" : "load");
  check_shadow(buffer, offset, size, writes, false, pc);
}

}  // namespace opgold::emulator::xpu
