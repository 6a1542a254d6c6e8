// Shared memory: each variable a buffer of the arena, poisoned and uninitialised at the start of every block.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "emulator/core/arena.h"
#include "emulator/core/block.h"
#include "emulator/core/findings.h"
#include "emulator/core/launch.h"

namespace opgold::emulator {

namespace {

constexpr int poison = 0xcb;
int next_slot = 0;
uint64_t placed[shared_slots];  // the launch a slot was placed in
SharedVariable dynamic_variable{};

[[noreturn]] OPGOLD_COLD void too_many() {
  Finding f{"launch"};
  f.at = here(0);
  f.detail = "one kernel declares more than " + std::to_string(shared_slots) + " shared variables";
  add(std::move(f));
  abandon();
}

Buffer& slot_of(SharedVariable& variable) {
  if (variable.slot < 0 || buffers[variable.slot].owner != &variable) {
    if (running.shared_variables == shared_slots) too_many();
    do {
      variable.slot = tensor_slots + next_slot;
      next_slot = (next_slot + 1) % shared_slots;
    } while (placed[variable.slot - tensor_slots] == running.serial);
    buffers[variable.slot].owner = &variable;
    placed[variable.slot - tensor_slots] = 0;
  }
  return buffers[variable.slot];
}

void place_variable(Buffer& buffer, SharedVariable& variable, bool counts, bool group) {
  ++running.shared_variables;
  if (counts) add_static_shared(variable.size, variable.name, group);
  buffer.name = variable.name;
  buffer.dtype = variable.dtype;
  buffer.item = static_cast<uint32_t>(variable.item);
  buffer.rank = variable.rank;
  std::copy(variable.shape, variable.shape + variable.rank, buffer.shape);
  buffer.group = group;
  buffer.shared = buffer.present = buffer.writable = buffer.tracked = true;
  place(buffer, variable.size, 0, call.options.seed);
  shadow(buffer, std::min<size_t>(variable.granule, 8));
}

void* use(SharedVariable& variable, bool counts, bool group = false) {
  Buffer& buffer = slot_of(variable);
  uint64_t& launch = placed[variable.slot - tensor_slots];
  if (launch != running.serial) {
    launch = running.serial;
    place_variable(buffer, variable, counts, group);
    buffer.fence = 0;
  }
  if (buffer.fence != current.block_start) {  // first use in this block
    buffer.fence = buffer.init_epoch = current.block_start;
    memset(reinterpret_cast<void*>(buffer.data), poison, buffer.size);
  }
  return reinterpret_cast<void*>(buffer.data);
}

}  // namespace

void* shared(SharedVariable* variable) {
  if (!running.request) return nullptr;
  return use(*variable, true);
}

void* group_shared(GroupVariable* variable) {
  if (!running.request) return nullptr;
  const int group = current.thread % core_groups;
  const auto is_placed = [](const SharedVariable& each) {
    return each.slot >= 0 && buffers[each.slot].owner == &each && placed[each.slot - tensor_slots] == running.serial;
  };
  // What one group has, all have: it is counted once a launch.
  const bool first = std::none_of(std::begin(variable->of), std::end(variable->of), is_placed);
  return use(variable->of[group], first, true);
}

void* dynamic_shared(const char* name, const char* dtype, size_t, size_t item, size_t granule) {
  if (!running.request) return nullptr;
  SharedVariable& variable = dynamic_variable;
  if (running.dynamic_serial != running.serial) {  // the first declaration that a launch meets names the memory
    running.dynamic_serial = running.serial;
    variable.name = name;
    variable.dtype = dtype;
    variable.size = running.request->shared_bytes;
    variable.item = item;
    variable.granule = granule;
    variable.rank = 1;
    variable.shape[0] = static_cast<int64_t>(variable.size / item);
  }
  return use(variable, false);
}

// After a launch: a stray write past a shared variable that no access check saw.
void check_shared_canaries() {
  for (int i = 0; i < shared_slots; ++i)
    if (placed[i] == running.serial) check_canary(buffers[tensor_slots + i]);
}

}  // namespace opgold::emulator
