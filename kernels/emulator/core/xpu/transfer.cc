// Copies between the memories of an XPU: checked at both ends, made at once or as late as they may be.
#include <cstring>

#include "emulator/core/block.h"
#include "emulator/core/fibre.h"
#include "emulator/core/shadow.h"
#include "emulator/core/xpu/cores.h"

namespace opgold::emulator {

namespace xpu {

namespace {

// One end of a copy, with what it is called for.
struct End {
  const char* name;
  Space space;
  uintptr_t address;
  size_t bytes;
  bool writes;
  uintptr_t pc;
  bool watched;

  Mode mode() const { return writes ? Mode::write : Mode::read; }
  std::string side() const { return std::string(name) + (writes ? ": the target" : ": the source"); }
};

void report(const End& end, const char* kind, std::string detail) {
  Finding f = finding(kind, end.mode(), end.address, end.bytes, end.pc);
  f.detail = std::move(detail);
  add(std::move(f));
}

bool right_memory(const End& end) {
  const Location location = locate(end.address);
  if (location.known && location.space == end.space) return true;
  const char* found = location.known                  ? space_name(location.space)
                      : on_stacks(end.address)        ? "another core's local memory"
                      : end.address < 4096            ? "a null pointer"
                                                      : "memory that is not the device's";
  report(end, "address-space", end.side() + " is " + found + ", expected " + space_name(end.space));
  return false;
}

bool check_buffer(const End& end) {
  Buffer& buffer = *locate(end.address).buffer;
  const size_t offset = end.address - buffer.data;
  if (offset > buffer.size || end.bytes > buffer.size - offset) {
    const bool before = offset > buffer.size && static_cast<int64_t>(offset) < 0;
    const uintptr_t first = before || offset >= buffer.size ? end.address : buffer.data + buffer.size;
    Finding f = finding("bounds", end.mode(), first, end.bytes, end.pc);
    f.detail = std::string(end.name) + " of " + std::to_string(end.bytes) + " bytes " +
               (before ? "starts before the buffer" : "runs past the end");
    add(std::move(f));
    return false;
  }
  if (end.writes && !buffer.writable) {
    read_only(buffer, end.address, end.bytes, Mode::write, end.pc);
    return false;
  }
  if (has_elements(buffer) && (offset % buffer.item != 0 || end.bytes % buffer.item != 0))
    report(end, "width",
           end.side() + ": " + std::to_string(end.bytes) + " bytes from byte " + std::to_string(offset % buffer.item) +
               " of an element are no whole number of elements of " + std::to_string(buffer.item) + " bytes");
  if (end.watched) check_shadow(buffer, offset, end.bytes, end.writes, true, end.pc);
  return true;
}

bool check_local(const End& end, uint64_t room) {
  if (end.bytes > room) {
    report(end, "bounds", end.side() + " is local memory with " + std::to_string(room) + " bytes left in its variable, " +
                              std::to_string(end.bytes) + " are moved");
    return false;
  }
  if (end.address + end.bytes > current.stack_low + stack_size) {
    report(end, "bounds", end.side() + " runs past the core's local memory");
    return false;
  }
  const Hazard hazard = unfenced(end.address, end.bytes);
  if (hazard == Hazard::stored)
    report(end, "fence", end.side() + " was stored to with no mfence since: the " +
                             (end.writes ? "store may land last" : "old bytes may be sent"));
  else if (hazard == Hazard::read && end.writes)
    report(end, "fence", end.side() + " was read with no mfence since: the load may see the new bytes");
  return true;
}

bool check_end(const End& end, uint64_t room) {
  if (!right_memory(end)) return false;
  in_flight(end.address, end.bytes, end.writes, end.pc, end.name);
  return end.space == Space::local ? check_local(end, room) : check_buffer(end);
}

}  // namespace

}  // namespace xpu

void transfer(const char* name, Space from, Space to, const void* source, void* target, int64_t bytes, bool wait,
              uint64_t room, bool watched) {
  if (!running.request) return;
  using namespace xpu;
  const uintptr_t pc = OPGOLD_CALLER;
  note_depth(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
  if (--current.steps < 0) out_of_steps(pc);
  const auto start = reinterpret_cast<uintptr_t>(source), end = reinterpret_cast<uintptr_t>(target);
  if (bytes < 0 || bytes > int64_t{0xffffffff}) {
    report({name, to, end, 0, true, pc, watched}, "transfer",
           std::string(name) + " of " + std::to_string(bytes) + " bytes: a length has 32 bits without a sign");
  } else if (bytes > 0) {
    const auto size = static_cast<size_t>(bytes);
    // What lands later cannot be compared with what stands there now.
    if (!wait) current.tag &= static_cast<uint16_t>(~same_value_bit);
    const bool source_right = check_end({name, from, start, size, false, pc, watched}, room);
    const bool target_right = check_end({name, to, end, size, true, pc, watched}, room);
    if (source_right && target_right) {
      const bool now = wait || !late_copies();
      if (now) memmove(target, source, size);
      if (!wait) self().outstanding.push_back({name, from, to, start, end, size, call_offset(pc), now});
    }
    current.tag = threads[current.thread].tag;
  }
  if (wait) finish_all(OPGOLD_LIVE);
}

void vector_access(const void* pointer, uint64_t bytes, uint64_t room, bool writes) {
  if (!running.request) return;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const xpu::End end{writes ? "vector store" : "vector load", Space::local, address, bytes, writes, OPGOLD_CALLER, true};
  const xpu::Location location = xpu::locate(address);
  if (address % 64 != 0) xpu::report(end, "alignment", end.side() + " is not on a 64-byte boundary");
  if (location.known && !location.buffer && bytes > room)
    xpu::report(end, "bounds", end.side() + " is local memory with " + std::to_string(room) +
                                   " bytes left in its variable, a vector has " + std::to_string(bytes));
}

}  // namespace opgold::emulator
