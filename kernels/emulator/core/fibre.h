// Fibres: stacks with guard pages, taken from a pool, and the switch between them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace opgold::emulator {

inline constexpr size_t stack_size = 128 * 1024;

// Saves the callee-saved registers, stores the stack pointer in *save, continues at `load`.
extern "C" void opgold_emulator_switch(void** save, void* load);

// The usable bytes of a stack are [stack, stack + stack_size); the page below is inaccessible.
// Null if no more can be mapped.
char* take_stack();
void return_stack(char* stack);
void reclaim_stacks();  // all of them, after an abandoned block
// A context that starts `entry`, which must not return.
void* fresh_context(char* stack, void (*entry)());

struct StackRange {
  uintptr_t low, high;
};
StackRange all_stacks();
uintptr_t guard_size();

}  // namespace opgold::emulator
