// The signal handlers of a call. They only resume elsewhere; what happened is reported there, outside the signal.
#include "emulator/core/faults.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "emulator/core/arena.h"
#include "emulator/core/block.h"
#include "emulator/core/fibre.h"
#include "emulator/core/findings.h"
#include "emulator/core/shadow.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace opgold::emulator {

sigjmp_buf call_exit;

namespace {

constexpr int handled[] = {SIGSEGV, SIGBUS, SIGFPE};
constexpr int ticks_to_hang = 4;
constexpr size_t alternate_size = 64 * 1024;

int timer_signal() { return SIGRTMIN + 6; }

struct sigaction before[3];
stack_t stack_before;
pid_t call_thread = 0;
uint64_t ticked_launch = 0;
int ticks = 0;

struct Fault {
  int signal;
  uintptr_t address, pc;
  bool is_write;
  bool unaddressed;  // the processor does not say which address it was
} fault;

// What a thread needs to take signals on a stack of its own; a call may come from any thread.
struct ThreadResources {
  std::unique_ptr<char[]> stack{new char[alternate_size]};
  timer_t timer{};
  bool has_timer = false;
  pid_t id = static_cast<pid_t>(syscall(SYS_gettid));

  ThreadResources() {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = timer_signal();
    event.sigev_notify_thread_id = id;
    has_timer = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0;
  }
  ~ThreadResources() {
    if (has_timer) timer_delete(timer);
  }
};
thread_local std::unique_ptr<ThreadResources> resources;

uintptr_t counter_of(const ucontext_t* context) {
#if defined(__x86_64__)
  return static_cast<uintptr_t>(context->uc_mcontext.gregs[REG_RIP]);
#else
  return static_cast<uintptr_t>(context->uc_mcontext.pc);
#endif
}

bool writes(const ucontext_t* context) {
#if defined(__x86_64__)
  return context->uc_mcontext.gregs[REG_ERR] & 2;
#else
  (void)context;
  return false;
#endif
}

void resume_at(ucontext_t* context, void (*function)()) {
  // The stack that faulted may be full, so the report is written on one of its own.
  static char report_stack[64 * 1024] __attribute__((aligned(64)));
  const auto top = reinterpret_cast<uintptr_t>(report_stack + sizeof report_stack - 64);
#if defined(__x86_64__)
  context->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(top - 8);
  context->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(function);
#else
  context->uc_mcontext.sp = top;
  context->uc_mcontext.pc = reinterpret_cast<uintptr_t>(function);
#endif
}

uintptr_t offset_of(uintptr_t pc) {
  const Library& library = running.library;
  return pc >= library.base && pc < library.end ? pc - library.base : 0;
}

void report_stack_overflow(Finding& f) {
  f.kind = "stack";
  f.detail = "the thread's stack of " + std::to_string(stack_size / 1024) + " KiB overflowed";
}

[[noreturn]] void report_fault() {
  Finding f{"fault"};
  f.pc = offset_of(fault.pc);
  f.at = here(f.pc);
  const Buffer* buffer = nearest(fault.address);
  if (fault.signal == SIGFPE) {
    f.detail = "division by zero, or of the least integer by -1";
    if (last_is("divide") || last_is("overflow")) abandon();
  } else if (in_guard(fault.address)) {
    report_stack_overflow(f);
  } else {
    if (!fault.unaddressed) f.access = f.at.access = fault.is_write ? "write" : "read";
    if (last_is("bounds") || last_is("host-memory") || last_is("alignment")) abandon();  // already said, better
    if (fault.unaddressed) {
      f.detail = "a misaligned vector access, or an address that no memory can have";
    } else if (buffer) {
      f.buffer = buffer;
      const auto offset = static_cast<int64_t>(fault.address - buffer->data);
      const auto item = static_cast<int64_t>(buffer->item);
      f.element = offset >= 0 ? offset / item : -((-offset + item - 1) / item);
      f.detail = "far outside the buffer";
    } else {
      f.detail = fault.address < 4096 ? "a null pointer" : "an address that belongs to no buffer";
    }
  }
  add(std::move(f));
  abandon();
}

[[noreturn]] void report_hang() {
  Finding f{"hang"};
  f.pc = offset_of(fault.pc);
  f.at = here(f.pc);
  f.detail = "the launch was stopped after " + std::to_string(call.options.time_limit) + " processor seconds";
  add(std::move(f));
  abandon();
}

void on_fault(int signal, siginfo_t* info, void* context_pointer) {
  auto* context = static_cast<ucontext_t*>(context_pointer);
  const bool ours = static_cast<pid_t>(syscall(SYS_gettid)) == call_thread;
  if (!ours || reporting) {
    // Another thread's fault, or our own mistake: let the handlers of before have it when it repeats.
    for (int i = 0; i < 3; ++i) sigaction(handled[i], &before[i], nullptr);
    return;
  }
  fault = {signal, reinterpret_cast<uintptr_t>(info->si_addr), counter_of(context), writes(context),
           info->si_code == SI_KERNEL};
  if (running.request) return resume_at(context, report_fault);
  siglongjmp(call_exit, signal);
}

void on_tick(int, siginfo_t*, void* context_pointer) {
  auto* context = static_cast<ucontext_t*>(context_pointer);
  if (static_cast<pid_t>(syscall(SYS_gettid)) != call_thread || !running.request) return;
  if (ticked_launch != running.serial) {
    ticked_launch = running.serial;
    ticks = 0;
  }
  if (++ticks < ticks_to_hang || reporting) return;
  // Anywhere but in device code a lock may be held: wait for a better moment.
  const uintptr_t pc = counter_of(context);
  if (!offset_of(pc)) return;
  fault = {0, 0, pc, false, false};
  resume_at(context, report_hang);
}

timespec seconds(double value) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(value);
  time.tv_nsec = static_cast<long>((value - static_cast<double>(time.tv_sec)) * 1e9);
  return time;
}

}  // namespace

bool on_call_thread() { return call_thread && static_cast<pid_t>(syscall(SYS_gettid)) == call_thread; }

void install_handlers(double time_limit) {
  // A forked child has the parent's memory, but neither its timers nor its thread id.
  if (resources && resources->id != static_cast<pid_t>(syscall(SYS_gettid))) resources.reset();
  if (!resources) resources = std::make_unique<ThreadResources>();
  call_thread = resources->id;
  ticks = 0;
  stack_t stack{};
  stack.ss_sp = resources->stack.get();
  stack.ss_size = alternate_size;
  sigaltstack(&stack, &stack_before);
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.sa_sigaction = on_fault;
  for (int i = 0; i < 3; ++i) sigaction(handled[i], &action, &before[i]);
  static const bool ticking = [] {  // nobody else uses this signal, so it may stay
    struct sigaction tick {};
    tick.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    tick.sa_sigaction = on_tick;
    sigaction(timer_signal(), &tick, nullptr);
    return true;
  }();
  (void)ticking;
  if (resources->has_timer) {
    const timespec interval = seconds(time_limit / ticks_to_hang);
    const itimerspec setting{interval, interval};
    timer_settime(resources->timer, 0, &setting, nullptr);
  }
}

void restore_handlers() {
  if (resources->has_timer) {
    const itimerspec off{};
    timer_settime(resources->timer, 0, &off, nullptr);
  }
  for (int i = 0; i < 3; ++i) sigaction(handled[i], &before[i], nullptr);
  if (!(stack_before.ss_flags & SS_DISABLE) || stack_before.ss_sp) sigaltstack(&stack_before, nullptr);
  else {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  call_thread = 0;
}

OPGOLD_COLD void out_of_steps(uintptr_t pc) {
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (frame - current.stack_low >= stack_size) return;
  Finding f{"hang"};
  f.pc = call_offset(pc);
  f.at = here(f.pc);
  f.detail = std::string("one ") + thread_word() + " made more than " + std::to_string(call.options.step_limit) + " accesses";
  const Index& grid = current.grid_extent;
  if (!on_xpu() && (grid.x > 1 || grid.y > 1 || grid.z > 1))
    f.detail += "; blocks run one after another, and none can wait for a later one";
  add(std::move(f));
  abandon();
}

}  // namespace opgold::emulator
