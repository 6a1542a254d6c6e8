// Signals: a wild access, a division trap or a launch without end becomes a finding, and the process lives on.
#pragma once

#include <csetjmp>

namespace opgold::emulator {

// Where a fault in the launcher's own code continues.
extern sigjmp_buf call_exit;

void install_handlers(double time_limit);
void restore_handlers();

}  // namespace opgold::emulator
