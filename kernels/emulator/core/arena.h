// The arena: one reserved, inaccessible range in which every buffer stands alone in the middle of its slot.
#pragma once

#include "emulator/core/state.h"

namespace opgold::emulator {

// Null if the arena stands, else why it cannot.
const char* reserve_arena();

// Places `size` bytes in the slot, with every byte round it inside the committed pages a canary of `seed`.
void place(Buffer& buffer, size_t size, size_t offset, uint64_t seed);
// Gives the buffer a shadow record for each granule; must follow place().
void shadow(Buffer& buffer, size_t granule);
// Forgets every record, so that epochs may start again.
void clear_shadows();

// Whether some byte round the buffer is no longer the canary's; `offset` (from data) is the first one.
bool broken_canary(const Buffer& buffer, intptr_t& offset);

// The buffer in whose slot an address lies, or null.
Buffer* nearest(uintptr_t address);

}  // namespace opgold::emulator
