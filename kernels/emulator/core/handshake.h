// Hand-shakes: what threads know to be over by fences and atomics. A fence and then an atomic write tell, an atomic read of
// that place and then a fence learn. A volatile access counts as an atomic one. A launch without fences pays nothing.
#pragma once

#include "emulator/core/block.h"

namespace opgold::emulator::handshake {

extern bool used;  // a thread of this launch has fenced

void begin_launch();
void begin_block();
void fence(Scope scope);
// Whether the running thread's next atomic or volatile write tells anything: it, or who was at a barrier with it, has fenced.
bool tells();
// An atomic or volatile read, and a write, of the running thread.
void read(uintptr_t address);
void write(uintptr_t address, bool update);
// All threads of the block, and these lanes of a warp, learn what each of them knows.
void pass_barrier();
void pass_syncwarp(int warp, uint32_t lanes);

// Whether the running thread knows that an access of this launch is over.
bool ordered(const Access& earlier);

}  // namespace opgold::emulator::handshake
