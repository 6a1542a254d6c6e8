// Accesses that a kernel's author answers for: under OPGOLD_ORDERED they are no race, under OPGOLD_SAME_VALUE two writes
// are none if the second one changes nothing.
#pragma once

#include "emulator/core/findings.h"

namespace opgold::emulator::excuses {

extern bool waiting;  // for a store, to see what it has changed

void begin_call();
// Counts an access that the running thread, or the earlier one, is excused for. False if neither is.
bool ordered(const Access& earlier);
// Keeps a finding about bytes of a granule that the running thread is about to write; only a change of them makes it one.
// False unless both writes are annotated.
bool same_value(const Access& earlier, const Buffer& buffer, size_t granule, size_t offset, size_t size,
                const Finding& finding);
// The stores have been made: called when the thread leaves its annotation, waits or ends.
void settle();

std::string sites_json();

}  // namespace opgold::emulator::excuses
