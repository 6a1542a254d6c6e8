// The life of a core, its fences, and the barrier of a cluster.
#include "emulator/core/xpu/cores.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "emulator/core/arena.h"
#include "emulator/core/block.h"
#include "emulator/core/fibre.h"

namespace opgold::emulator {

namespace xpu {

Core cores[max_cores];

namespace {

constexpr size_t red_zone = 128;  // below a frame, where a leaf function keeps its variables
uint32_t last_clock = 0;
std::map<const void*, size_t> depths;  // by kernel: the most local memory a core has used so far
size_t* depth = nullptr;               // of the kernel that runs

// Local memory holds nothing that a kernel may rely on, and another thing in each run of a case.
__attribute__((noinline)) void poison_stack(uintptr_t low, uintptr_t high) {
  const opgold_options& options = call.options;
  const uint64_t kind = 0x5b + 0x10 * options.schedule + 3 * options.clusters + options.cores;
  auto* at = reinterpret_cast<volatile uint64_t*>(low & ~uintptr_t{7});
  for (; reinterpret_cast<uintptr_t>(at) < high; ++at) *at = (kind & 0xff) * 0x0101010101010101u;
}

void report_depth(const Core& core) {
  const size_t used = core.entry - core.deepest;
  *depth = std::max(*depth, used);
  LaunchEntry& launch = call.launches.back();
  const bool said = launch.local_bytes > local_limit;
  launch.local_bytes = std::max(launch.local_bytes, used);
  if (used <= local_limit || said) return;
  Finding f{"local-memory"};
  f.file = running.request->file;
  f.line = running.request->line;
  f.at = here(0);
  f.detail = std::to_string(used) + " bytes of local memory with the stack, a core has " + std::to_string(local_limit);
  add(std::move(f));
}

void report_in_flight(const Transfer& transfer, std::string when) {
  Finding f{"in-flight"};
  f.pc = transfer.pc;
  f.at = here(transfer.pc);
  f.detail = std::string(transfer.name) + " of " + std::to_string(transfer.bytes) + " bytes is still in flight " + when;
  add(std::move(f));
}

// Copies that end only now; `live`: local memory below it has gone with its function.
void finish(Core& core, bool (*concerns)(const Transfer&), uintptr_t live) {
  auto& list = core.outstanding;
  for (const Transfer& transfer : list) {
    if (!concerns(transfer)) continue;
    const bool gone = (transfer.from == Space::local && transfer.source < live) ||
                      (transfer.to == Space::local && transfer.target < live);
    if (gone) report_in_flight(transfer, "as the function of its local variable has returned");
    if (!transfer.copied && !gone)
      memmove(reinterpret_cast<void*>(transfer.target), reinterpret_cast<const void*>(transfer.source), transfer.bytes);
    if (transfer.to != Space::local) finish_write(transfer.target, transfer.bytes, transfer.pc);
  }
  list.erase(std::remove_if(list.begin(), list.end(), concerns), list.end());
}

}  // namespace

void finish_all(uintptr_t live) {
  finish(self(), [](const Transfer&) { return true; }, live);
}

void begin_launch() {
  for (Core& core : cores) core.outstanding.clear();
  depth = &depths[reinterpret_cast<const void*>(running.request->run)];
}

void end_launch() {
  LaunchEntry& launch = call.launches.back();
  launch.shared_bytes = running.static_shared + running.group_shared * core_groups;
}

void begin_core() {
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  Core& core = self();
  core.clock = ++last_clock;
  core.group_fences = core.shared_fences = core.global_fences = 0;
  core.group_at_barrier = core.shared_at_barrier = core.global_at_barrier = 0;
  core.entry = core.deepest = frame;
  core.outstanding.clear();
  const size_t used = *depth ? *depth : local_limit;  // not known before its first launch
  const uintptr_t high = frame - 4 * red_zone, low = frame - std::min(used + 4 * red_zone, stack_size / 2);
  if (low < high) poison_stack(low, high);
}

void end_core() {
  Core& core = self();
  if (!core.outstanding.empty()) {
    report_in_flight(core.outstanding.front(), "as its core ends");
    core.outstanding.clear();
  }
  report_depth(core);
}

void pass_barrier() {
  for (int i = 0; i < block.size; ++i) {
    cores[i].group_at_barrier = cores[i].group_fences;
    cores[i].shared_at_barrier = cores[i].shared_fences;
    cores[i].global_at_barrier = cores[i].global_fences;
  }
}

const char* space_name(Space space) {
  switch (space) {
    case Space::local: return "local memory";
    case Space::group: return "group-shared memory";
    case Space::shared: return "cluster-shared memory";
    default: return "global memory";
  }
}

Location locate(uintptr_t address) {
  if (address - current.stack_low < stack_size) return {true, Space::local, nullptr};
  const uintptr_t slot = (address - current.arena) >> current.shift;
  if (slot >= slot_count || !buffers[slot].present) return {};
  Buffer& buffer = buffers[slot];
  return {true, buffer.group ? Space::group : buffer.shared ? Space::shared : Space::global, &buffer};
}

Finding finding(const char* kind, Mode mode, uintptr_t address, size_t size, uintptr_t pc) {
  Finding f{kind};
  f.access = access_name(mode);
  f.size = size;
  f.pc = call_offset(pc);
  f.at = here(mode, f.pc);
  f.buffer = locate(address).buffer;
  if (f.buffer) {
    const auto offset = static_cast<int64_t>(address - f.buffer->data), item = static_cast<int64_t>(f.buffer->item);
    f.element = offset >= 0 ? offset / item : -((-offset + item - 1) / item);
  }
  return f;
}

}  // namespace xpu

void fence(Fence kind) {
  if (!running.request) return;
  using namespace xpu;
  note_depth(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
  Core& core = self();
  const uintptr_t live = OPGOLD_LIVE;
  if (kind == Fence::all) {
    finish_all(live);
  } else if (kind == Fence::local) {
    finish(core, [](const Transfer& t) { return t.on_chip(Space::local) || t.on_chip(Space::group); }, live);
  } else {
    finish(core, [](const Transfer& t) { return t.on_chip(Space::shared); }, live);
  }
  if (kind != Fence::shared) core.clock = ++last_clock;
  if (kind != Fence::shared) ++core.group_fences;
  if (kind != Fence::local) ++core.shared_fences;
  if (kind == Fence::all) ++core.global_fences;
}

void cluster_barrier(const char* name, const char* file, int line) {
  if (!running.request) return;
  xpu::note_depth(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
  for (const xpu::Transfer& transfer : xpu::self().outstanding) xpu::report_in_flight(transfer, std::string("at ") + name);
  wait_at_barrier(Barrier::plain, 0, name, file, line, call_offset(OPGOLD_CALLER));
}

int device_clusters() { return call.options.clusters > 0 ? std::min(call.options.clusters, xpu::max_clusters) : 8; }
int device_cores() { return call.options.cores > 0 ? std::min(call.options.cores, xpu::max_cores) : xpu::max_cores; }

}  // namespace opgold::emulator
