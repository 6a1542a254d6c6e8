// The cold ends of the access check: what to report.
#include "emulator/core/shadow.h"

#include "emulator/core/arena.h"
#include "emulator/core/block.h"
#include "emulator/core/findings.h"
#include "emulator/core/xpu/cores.h"

namespace opgold::emulator {

namespace {

int64_t element_of(const Buffer& buffer, int64_t offset) {
  const auto item = static_cast<int64_t>(buffer.item);
  return offset >= 0 ? offset / item : -((-offset + item - 1) / item);
}

Finding finding(const char* kind, Buffer& buffer, int64_t offset, size_t size, Mode mode, uintptr_t pc) {
  Finding f{kind};
  f.access = access_name(mode);
  f.buffer = &buffer;
  f.element = element_of(buffer, offset);
  f.size = size;
  f.pc = call_offset(pc);
  f.at = here(mode, f.pc);
  return f;
}

bool in(uintptr_t address, const void* start, size_t size) {
  return address - reinterpret_cast<uintptr_t>(start) < size;
}

}  // namespace

OPGOLD_COLD void outside_buffer(Buffer& buffer, uintptr_t address, size_t size, Mode mode, uintptr_t pc) {
  if (!buffer.present) return on_xpu() ? outside_memory(address, size, mode, pc) : outside_arena(address, size, mode, pc);
  auto offset = static_cast<int64_t>(address - buffer.data);
  const auto end = static_cast<int64_t>(buffer.size);
  forget_index_finding();  // what the compiler's check said of the same index knows less
  const int64_t first = offset >= 0 && offset < end ? end : offset;
  Finding f = finding("bounds", buffer, first, size, mode, pc);
  f.detail = std::to_string(size) + "-byte " + f.access + (offset < 0 ? " before the start" : " past the end");
  add(std::move(f));
}

OPGOLD_COLD void outside_arena(uintptr_t address, size_t size, Mode mode, uintptr_t pc) {
  if (on_xpu()) return xpu::access(address, size, mode, pc);
  if (!running.request) {
    // The launcher itself runs. Only device memory is none of its business.
    Buffer* buffer = call.active ? nearest(address) : nullptr;
    if (!buffer || !on_call_thread()) return;
    const auto offset = static_cast<int64_t>(address - buffer->data);
    Finding f = finding("host-memory", *buffer, offset, size, mode, pc);
    f.detail = "host code touches device memory";
    return add(std::move(f));
  }
  const auto here_now = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (here_now - current.stack_low >= current.stack_size) return;  // not device code
  outside_memory(address, size, mode, pc);
}

OPGOLD_COLD void outside_memory(uintptr_t address, size_t size, Mode mode, uintptr_t pc) {
  if (in(address, running.request->closure, running.request->closure_size)) return;
  if (address - running.library.base < running.library.end - running.library.base) return;
  Finding f{"host-memory"};
  f.access = access_name(mode);
  f.size = size;
  f.pc = call_offset(pc);
  f.at = here(mode, f.pc);
  f.detail = std::to_string(size) + "-byte " + f.access + " of " +
             (on_stacks(address) ? std::string("another ") + thread_word() + "'s local memory"
                                 : address < 4096 ? "a null pointer" : "memory that is not the device's");
  add(std::move(f));
}

OPGOLD_COLD void read_only(Buffer& buffer, uintptr_t address, size_t size, Mode mode, uintptr_t pc) {
  Finding f = finding("input-write", buffer, static_cast<int64_t>(address - buffer.data), size, mode, pc);
  f.detail = "writes an argument that the op may only read";
  add(std::move(f));
}

OPGOLD_COLD void uninitialised(Buffer& buffer, size_t granule, size_t size, Mode mode, uintptr_t pc) {
  Finding f = finding("uninitialised", buffer, static_cast<int64_t>(granule << buffer.granule_bits), size, mode, pc);
  f.detail = buffer.shared ? std::string("reads shared memory that this ") + block_word() + " has not written"
                           : "reads an output that nothing has written";
  add(std::move(f));
}

OPGOLD_COLD void refine(Buffer& buffer, size_t size) {
  while ((size_t{1} << buffer.granule_bits) > size) {
    const size_t count = (buffer.size + (size_t{1} << buffer.granule_bits) - 1) >> buffer.granule_bits;
    for (size_t i = count; i-- > 0;) {
      const Record record = buffer.shadow[i];
      buffer.shadow[2 * i] = buffer.shadow[2 * i + 1] = record;
    }
    --buffer.granule_bits;
  }
}

bool initialised(const Buffer& buffer, size_t offset, size_t size) {
  if (!buffer.tracked || size == 0) return true;
  for (size_t i = offset >> buffer.granule_bits; i <= (offset + size - 1) >> buffer.granule_bits; ++i)
    if (buffer.shadow[i].write.epoch < buffer.init_epoch) return false;
  return true;
}

}  // namespace opgold::emulator
