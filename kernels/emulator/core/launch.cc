// Runs a launch block after block, after checking what a GPU would refuse.
#include "emulator/core/launch.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "emulator/core/arena.h"
#include "emulator/core/block.h"
#include "emulator/core/faults.h"
#include "emulator/core/findings.h"
#include "emulator/core/handshake.h"
#include "emulator/core/xpu/cores.h"

namespace opgold::emulator {

Current current;
Launch running;

namespace {

constexpr size_t shared_limit = 48 * 1024, shared_limit_raised = 227 * 1024;
std::map<const void*, Library> libraries;
std::map<const void*, int> dynamic_limits;  // by kernel
std::vector<uint32_t> block_order;

// Where the loader put the library that holds `code`.
Library find_library(const void* code) {
  Library library;
  Dl_info info;
  if (!dladdr(code, &info)) return library;
  library.path = info.dli_fname;
  library.base = reinterpret_cast<uintptr_t>(info.dli_fbase);
  const auto* header = static_cast<const ElfW(Ehdr)*>(info.dli_fbase);
  const auto* segment = reinterpret_cast<const ElfW(Phdr)*>(library.base + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i)
    if (segment[i].p_type == PT_LOAD)
      library.end = std::max<uintptr_t>(library.end, library.base + segment[i].p_vaddr + segment[i].p_memsz);
  return library;
}

const Library& library_of(const LaunchRequest& request) {
  const auto* code = reinterpret_cast<const void*>(request.run);
  auto found = libraries.find(code);
  if (found == libraries.end()) found = libraries.emplace(code, find_library(code)).first;
  return found->second;
}

std::string text_of(const Index& index) {
  return '(' + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ')';
}

// What the launch was allowed to ask for; when the kernel is not known, what any kernel was.
size_t dynamic_limit(const LaunchRequest& request) {
  size_t limit = shared_limit;
  for (const auto& [kernel, bytes] : dynamic_limits)
    if (!request.function || kernel == request.function) limit = std::max(limit, static_cast<size_t>(bytes));
  return limit;
}

std::string fault_on_xpu(unsigned clusters, unsigned cores) {
  const auto most = static_cast<unsigned>(device_clusters());
  if (clusters < 1 || clusters > most)
    return std::to_string(static_cast<int>(clusters)) + " clusters, the device has " + std::to_string(most);
  if (cores < 1 || cores > xpu::max_cores)
    return std::to_string(static_cast<int>(cores)) + " cores a cluster, there are " + std::to_string(xpu::max_cores);
  return "";
}

std::string fault_of(const LaunchRequest& request) {
  const Index &grid = request.grid, &extent = request.block;
  if (request.machine == Machine::xpu) return fault_on_xpu(grid.x, extent.x);
  if (!grid.x || !grid.y || !grid.z) return "the grid " + text_of(grid) + " is empty";
  if (!extent.x || !extent.y || !extent.z) return "the block " + text_of(extent) + " is empty";
  if (extent.x > 1024 || extent.y > 1024 || extent.z > 64 || uint64_t{extent.x} * extent.y * extent.z > max_threads)
    return "the block " + text_of(extent) + " has more than 1024 threads, or a dimension above (1024, 1024, 64)";
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return "the grid " + text_of(grid) + " is above (2147483647, 65535, 65535)";
  if (request.shared_bytes > dynamic_limit(request))
    return std::to_string(request.shared_bytes) + " bytes of dynamic shared memory, the limit is " +
           std::to_string(dynamic_limit(request));
  return "";
}

Finding launch_finding(const char* kind, const LaunchRequest& request, std::string detail) {
  Finding f{kind};
  f.file = request.file;
  f.line = request.line;
  f.detail = std::string(request.kernel) + ": " + std::move(detail);
  return f;
}

void order_blocks(size_t count) {
  block_order.resize(count);
  std::iota(block_order.begin(), block_order.end(), 0u);
  if (call.options.schedule == opgold_descending) std::reverse(block_order.begin(), block_order.end());
  if (call.options.schedule == opgold_random)
    for (size_t i = count; i > 1; --i) std::swap(block_order[i - 1], block_order[draw() % i]);
}

void begin(const LaunchRequest& request, Timeline& timeline) {
  running.request = &request;
  running.library = library_of(request);
  running.static_shared = running.group_shared = 0;
  running.shared_variables = 0;
  running.abandoned = false;
  ++running.serial;
  current.library_base = running.library.base;
  current.grid_extent = request.grid;
  current.block_extent = request.block;
  current.launch_start = ++current.epoch;
  current.slots = on_xpu() ? 0 : slot_count;  // an XPU's accesses are all looked at in xpu/access.cc
  const uint32_t first =
      queue(timeline, {0, 0, 0, request.kernel, request.file, request.line, request.grid, request.block, true});
  for (int i = 0; i < call.tensor_count; ++i) {
    buffers[i].fence = first;
    if (!request.watched) buffers[i].init_epoch = 0;  // nobody knows what it writes
  }
  handshake::begin_launch();
}

void end() {
  if (on_xpu()) xpu::end_launch();
  current.slots = 0;
  check_shared_canaries();
  running.request = nullptr;
  ++current.epoch;
}

}  // namespace

void forget_libraries() { libraries.clear(); }

void add_static_shared(size_t size, const char* name, bool group) {
  size_t& used = group ? running.group_shared : running.static_shared;
  used += size;
  const LaunchRequest& request = *running.request;
  const bool on_cores = request.machine == Machine::xpu;
  const size_t static_limit = !on_cores ? shared_limit : group ? xpu::group_limit : xpu::shared_limit;
  const size_t limit = request.shared_bytes ? dynamic_limit(request) : static_limit;
  if (used <= static_limit && used + request.shared_bytes <= limit) return;
  const std::string up_to = " (up to " + std::string(name) + ")";
  add(launch_finding("launch", request,
                     std::to_string(used) + " bytes of " +
                         (on_cores ? (group ? "group-shared" : "cluster-shared") + up_to + " memory"
                                   : "static" + up_to + " and " + std::to_string(request.shared_bytes) +
                                         " of dynamic shared memory") +
                         ", the limit is " + std::to_string(limit)));
  call.status = invalid_configuration;
  abandon();
}

void execute(const LaunchRequest& request, Timeline& timeline) {
  if (!call.active) {
    call.status = invalid_resource_handle;
    return;
  }
  if (call.abandoned) {
    call.status = launch_failure;
    return;
  }
  const std::string fault = fault_of(request);
  if (!fault.empty()) {
    add(launch_finding("launch", request, fault));
    call.status = invalid_configuration;
    return;
  }
  call.launches.push_back({request.kernel, request.grid, request.block, request.machine});
  begin(request, timeline);
  if (on_xpu()) xpu::begin_launch();
  const int threads_in_block = static_cast<int>(request.block.x * request.block.y * request.block.z);
  const size_t count = size_t{request.grid.x} * request.grid.y * request.grid.z;
  const bool ascending = call.options.schedule != opgold_descending && call.options.schedule != opgold_random;
  if (!ascending) order_blocks(count);
  bool whole = true;
  for (size_t i = 0; i < count && whole; ++i) {
    const uint32_t linear = ascending ? static_cast<uint32_t>(i) : block_order[i];
    current.block_index = block_of(linear);
    current.block_start = ++current.epoch;
    call.intervals.push_back({current.epoch, linear});
    whole = run_block(threads_in_block);
  }
  if (!whole) {
    call.abandoned = true;
    if (call.status == success) call.status = launch_failure;
  }
  end();
}

int set_dynamic_shared_limit(const void* function, int bytes) {
  if (bytes < 0 || static_cast<size_t>(bytes) > shared_limit_raised) return call.status = invalid_value;
  dynamic_limits[function] = bytes;
  return success;
}

void check_canary(Buffer& buffer) {
  intptr_t offset;
  if (!broken_canary(buffer, offset) || found("bounds", &buffer)) return;
  Finding f{"canary"};
  f.access = "write";
  f.buffer = &buffer;
  const auto item = static_cast<intptr_t>(buffer.item);
  f.element = offset >= 0 ? offset / item : -((-offset + item - 1) / item);
  f.detail = "bytes outside the buffer were overwritten during the call";
  add(std::move(f));
}

Index thread_index() noexcept { return current.thread_index; }
Index block_index() noexcept { return current.block_index; }
Index block_extent() noexcept { return current.block_extent; }
Index grid_extent() noexcept { return current.grid_extent; }
unsigned lane_index() noexcept { return current.thread % 32u; }

}  // namespace opgold::emulator
