// Launches: the checks of a configuration, and the loop over blocks.
#pragma once

#include "emulator/core/operations.h"

namespace opgold::emulator {

// Counts a static shared variable; reports and abandons a launch that asks for too much.
void add_static_shared(size_t size, const char* name, bool group);
void check_shared_canaries();
void check_canary(Buffer& buffer);
// Called once per call, since libraries may have been replaced between.
void forget_libraries();
// Executes at once; what a device may have done meanwhile follows from the timeline.
void execute(const LaunchRequest& request, Timeline& timeline);

}  // namespace opgold::emulator
