// What the emulated vendor headers ask of the emulator's core. Kernel libraries include nothing else of it.
#pragma once

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)

namespace opgold::emulator {

struct Index {
  unsigned x, y, z;
};

// What a launch runs on. On an XPU a block is a cluster and a thread is a core.
enum class Machine : int { cuda, xpu };

// Returned by value and const: a thread's index never changes, while the address of a shared variable would be
// remembered across a switch of threads.
Index thread_index() noexcept __attribute__((const));
Index block_index() noexcept __attribute__((const));
Index block_extent() noexcept __attribute__((const));
Index grid_extent() noexcept __attribute__((const));
unsigned lane_index() noexcept __attribute__((const));

// --- block and warp collectives; file and line name the call, for an optimiser may copy one call to several places ---

enum class Barrier : int { plain, count, all, any };
int barrier(Barrier kind, int predicate, const char* file, int line);

enum class WarpOp : int {
  sync, shuffle, ballot, match, add, min, max, min_signed, max_signed, bit_and, bit_or, bit_xor
};
// `lane` is the lane that a shuffle reads. `name` is the vendor's name of the call.
uint64_t warp(WarpOp op, const char* name, uint32_t mask, uint64_t value, int lane, const char* file, int line);
uint32_t active_lanes();

// --- memory ---

// One `__shared__` variable of one kernel (instance).
struct SharedVariable {
  const char* name;
  const char* dtype;
  size_t size, alignment, item, granule;
  int rank;
  int64_t shape[4];
  int slot = -1;
};
void* shared(SharedVariable* variable);
// One `__group_shared__` variable: each of a cluster's 16 groups of cores has its own.
inline constexpr int core_groups = 16;
struct GroupVariable {
  SharedVariable of[core_groups];
};
void* group_shared(GroupVariable* variable);
// `extern __shared__`: as many bytes as the launch asked for.
void* dynamic_shared(const char* name, const char* dtype, size_t alignment, size_t item, size_t granule);

// Called just before an atomic access; checked like a write that only races with plain accesses.
void atomic_access(void* address, size_t size);
// Called just before an atomic access writes, which a compare-and-swap may not.
void publish(void* address);
enum class Scope : int { block, device };
// What the thread did before is over for whoever takes notice of an atomic of its, and fences, later on.
void thread_fence(Scope scope);
// The other threads of the block run first. `address` is polled: they do once it has been polled for long.
void yield();
void polled(const void* address);

// --- accesses that a kernel's author answers for (bindings/annotations.h) ---

enum class Excuse : int { same_value, ordered };
struct ExcuseSite {
  Excuse kind;
  const char* reason;
  const char* file;
  int line;
  bool listed = false;
  int64_t count = 0;  // accesses excused in this call
};
void open_excuse(ExcuseSite* site);
void close_excuse();

// --- XPU: transfers, fences, and the grid that the device has ---

enum class Space : int { local, group, shared, global };
// `room`: bytes from the local address to the end of its variable, or as many as there can be where that is not known. `wait` is false for `_ASYNC`.
// `watched` tells whether the unit's loads and stores are seen, too: if not, nothing is known of who wrote what.
void transfer(const char* name, Space from, Space to, const void* source, void* target, int64_t bytes, bool wait,
              uint64_t room, bool watched);
enum class Fence : int { local, shared, all };
void fence(Fence kind);
void cluster_barrier(const char* name, const char* file, int line);
// A vector of `bytes` at a local address; other memories' accesses are seen anyway.
void vector_access(const void* address, uint64_t bytes, uint64_t room, bool writes);
int device_clusters();
int device_cores();

// --- host side ---

struct LaunchRequest {
  const char* kernel;
  const char* file;
  int line;
  Index grid, block;
  size_t shared_bytes;
  void* stream;
  const void* function;  // null when only the call tells which overload is meant
  void (*run)(const void* closure);
  const void* closure;
  size_t closure_size;
  void* (*clone)(const void* closure);
  void (*destroy)(void* closure);
  Machine machine;
  bool watched;  // its loads and stores are seen
};
void launch(const LaunchRequest& request);

// Error codes are CUDA's.
enum Status : int {
  success = 0,
  invalid_value = 1,
  invalid_configuration = 9,
  invalid_device_function = 98,
  invalid_resource_handle = 400,
  illegal_address = 700,
  launch_failure = 719,
  capture_unsupported = 900,
  capture_invalidated = 901,
};
int last_error(bool clear);
const char* error_text(int status);

// Something a launcher may not do, because it could then not be captured in a graph.
int forbidden(const char* name, const char* file, int line);
int set_dynamic_shared_limit(const void* function, int bytes);
int copy_async(void* to, const void* from, size_t size, bool on_device, void* stream, const char* file, int line);
int fill_async(void* to, int value, size_t size, void* stream, const char* file, int line);

int stream_create(void** stream);
int stream_destroy(void* stream);
int event_create(void** event);
int event_destroy(void* event);
int event_record(void* event, void* stream);
int stream_wait(void* stream, void* event);
int capture_begin(void* stream);
int capture_end(void* stream, void** graph);
bool capturing(void* stream);
int graph_instantiate(void** executable, void* graph);
int graph_launch(void* executable, void* stream);
int graph_destroy(void* graph);

}  // namespace opgold::emulator

#pragma GCC visibility pop
