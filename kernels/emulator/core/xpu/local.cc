// Local memory is a core's stack. Each byte remembers the last plain store and load of it, and the fences before them.
#include <sys/mman.h>

#include <stdexcept>

#include "emulator/core/block.h"
#include "emulator/core/fibre.h"
#include "emulator/core/xpu/cores.h"

namespace opgold::emulator::xpu {

namespace {

struct Mark {
  uint32_t stored, read;  // the core's clock at the time; 0: never
};

// A mark for each byte of every stack; untouched pages cost nothing.
Mark* marks() {
  static Mark* const base = [] {
    const StackRange range = all_stacks();
    const size_t bytes = (range.high - range.low) * sizeof(Mark);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("the emulator cannot map the marks of local memory");
    return static_cast<Mark*>(memory);
  }();
  return base;
}

Mark* marks_of(uintptr_t address) { return marks() + (address - all_stacks().low); }

}  // namespace

void mark_local(uintptr_t address, size_t size, bool writes) {
  const uint32_t clock = self().clock;
  Mark* mark = marks_of(address);
  for (size_t i = 0; i < size; ++i) (writes ? mark[i].stored : mark[i].read) = clock;
}

Hazard unfenced(uintptr_t address, size_t size) {
  const uint32_t clock = self().clock;
  const Mark* mark = marks_of(address);
  bool read = false;
  for (size_t i = 0; i < size; ++i) {
    if (mark[i].stored == clock) return Hazard::stored;
    read |= mark[i].read == clock;
  }
  return read ? Hazard::read : Hazard::none;
}

}  // namespace opgold::emulator::xpu
