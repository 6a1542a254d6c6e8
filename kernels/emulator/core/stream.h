// Where an operation is queued.
#pragma once

#include <functional>

#include "emulator/core/operations.h"

namespace opgold::emulator {

struct Stream;

Timeline& timeline_of(void* stream);
// Runs it on its stream now, or, while the stream is being captured, when the graph is launched.
void submit(void* stream, std::function<void(Timeline&)> run);
// Reports the default stream, which a launcher must not use.
void check_stream(const char* what, void* stream, const char* file, int line);

}  // namespace opgold::emulator
