// The switch in assembly, and the pool of stacks.
#include "emulator/core/fibre.h"

#include <sys/mman.h>
#include <unistd.h>

#include "emulator/core/state.h"

#if defined(__x86_64__)
asm(R"(
.text
.hidden opgold_emulator_switch
.globl opgold_emulator_switch
.type opgold_emulator_switch, @function
opgold_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size opgold_emulator_switch, .-opgold_emulator_switch
)");
#elif defined(__aarch64__)
asm(R"(
.text
.hidden opgold_emulator_switch
.globl opgold_emulator_switch
.type opgold_emulator_switch, %function
opgold_emulator_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size opgold_emulator_switch, .-opgold_emulator_switch
)");
#else
#error "the emulator switches stacks on x86-64 and aarch64 only"
#endif

namespace opgold::emulator {

namespace {

constexpr int stack_count = max_threads + 1;
constexpr int colours = 16;  // tops differ, or a thousand hot frames would share a few cache sets
char* reservation = nullptr;
char* free_stacks[stack_count];
int free_count = 0, opened = 0;

uintptr_t stride() { return stack_size + guard_size(); }

}  // namespace

uintptr_t guard_size() {
  static const auto size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

char* take_stack() {
  if (free_count > 0) return free_stacks[--free_count];
  if (!reservation) {
    void* memory = mmap(nullptr, stride() * stack_count, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    reservation = static_cast<char*>(memory);
  }
  // Opened one by one: a launch of few threads then costs few mappings.
  char* stack = reservation + stride() * static_cast<uintptr_t>(opened) + guard_size();
  if (opened == stack_count || mprotect(stack, stack_size, PROT_READ | PROT_WRITE) != 0)
    return nullptr;
  ++opened;
  return stack;
}

void return_stack(char* stack) { free_stacks[free_count++] = stack; }

void reclaim_stacks() {
  free_count = 0;
  for (int i = opened; i-- > 0;)
    free_stacks[free_count++] = reservation + stride() * static_cast<uintptr_t>(i) + guard_size();
}

void* fresh_context(char* stack, void (*entry)()) {
  const auto colour = reinterpret_cast<uintptr_t>(stack) / stride() % colours;
  char* top = stack + stack_size - colour * 192 - 64;
  top = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t{15});
#if defined(__x86_64__)
  auto** frame = reinterpret_cast<void**>(top);
  *--frame = nullptr;  // where a return address would stand
  *--frame = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i) *--frame = nullptr;
  return frame;
#else
  auto** frame = reinterpret_cast<void**>(top - 160);
  for (int i = 0; i < 20; ++i) frame[i] = nullptr;
  frame[11] = reinterpret_cast<void*>(entry);
  return frame;
#endif
}

StackRange all_stacks() {
  const auto low = reinterpret_cast<uintptr_t>(reservation);
  return {low, reservation ? low + stride() * stack_count : low};
}

}  // namespace opgold::emulator
