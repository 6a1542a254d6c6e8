// Streams, capture and graphs, asynchronous copies, and what a launcher may not do.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "emulator/core/arena.h"
#include "emulator/core/block.h"
#include "emulator/core/findings.h"
#include "emulator/core/launch.h"
#include "emulator/core/shadow.h"

namespace opgold::emulator {

Call call;

namespace {

// A captured operation. A kernel's closure is copied, as a real graph copies its parameters.
struct Node {
  std::function<void()> run;
};
struct Graph {
  std::vector<Node> nodes;
};
struct Stream {
  bool capturing = false;
  Graph graph;
};

Stream default_stream;

Stream& stream_at(void* stream) { return stream ? *static_cast<Stream*>(stream) : default_stream; }

// A launcher that forgets its stream works by accident, and cannot be captured.
void check_stream(const char* what, void* stream, const char* file, int line) {
  if (stream || !call.stream) return;
  Finding f{"capture"};
  f.file = file;
  f.line = line;
  f.detail = std::string(what) + " on the default stream, not on the launcher's";
  add(std::move(f));
}

void submit(void* stream, std::function<void()> run) {
  Stream& target = stream_at(stream);
  if (target.capturing) target.graph.nodes.push_back({std::move(run)});
  else run();
}

// The device buffer that holds [address, address + size), or null after a finding.
Buffer* device_range(const char* what, const void* address, size_t size, Mode mode, const char* file, int line) {
  Buffer* buffer = nearest(reinterpret_cast<uintptr_t>(address));
  const size_t offset = buffer ? reinterpret_cast<uintptr_t>(address) - buffer->data : 0;
  const bool inside = buffer && offset <= buffer->size && size <= buffer->size - offset;
  const char* kind = !buffer ? "host-memory" : !inside ? "bounds" : nullptr;
  if (inside && mode == Mode::write && !buffer->writable) kind = "input-write";
  if (inside && mode == Mode::read && !initialised(*buffer, offset, size)) kind = "uninitialised";
  if (!kind) return buffer;
  Finding f{kind};
  f.access = access_name(mode);
  f.buffer = buffer;
  f.size = size;
  if (buffer) f.element = static_cast<int64_t>(inside ? offset : std::max(offset, buffer->size)) / buffer->item;
  f.file = file;
  f.line = line;
  f.detail = std::string(what) + " of " + std::to_string(size) + " bytes";
  add(std::move(f));
  return inside ? buffer : nullptr;
}

void mark(Buffer* buffer, const void* address, size_t size) {
  mark_written(*buffer, reinterpret_cast<uintptr_t>(address) - buffer->data, size);
}

}  // namespace

int last_error(bool clear) {
  const int status = call.status;
  if (clear && !call.abandoned) call.status = success;
  return status;
}

const char* error_text(int status) {
  switch (status) {
    case success: return "no error";
    case invalid_value: return "invalid argument";
    case invalid_configuration: return "invalid configuration argument";
    case invalid_device_function: return "invalid device function";
    case invalid_resource_handle: return "invalid resource handle";
    case illegal_address: return "an illegal memory access was encountered";
    case launch_failure: return "unspecified launch failure";
    case capture_unsupported: return "operation not permitted when stream is capturing";
    case capture_invalidated: return "operation failed due to a previous error during capture";
    default: return "unrecognized error code";
  }
}

int forbidden(const char* name, const char* file, int line) {
  Finding f{"capture"};
  f.file = file;
  f.line = line;
  f.detail = std::string(name) + " in a launcher: it could not be captured in a graph";
  add(std::move(f));
  return call.status = capture_unsupported;
}

void launch(const LaunchRequest& request) {
  check_stream("a launch", request.stream, request.file, request.line);
  if (!stream_at(request.stream).capturing) return execute(request);
  LaunchRequest copy = request;
  std::shared_ptr<void> closure(request.clone(request.closure), request.destroy);
  copy.closure = closure.get();
  stream_at(request.stream).graph.nodes.push_back({[copy, closure] { execute(copy); }});
}

int copy_async(void* to, const void* from, size_t size, bool on_device, void* stream, const char* file, int line) {
  if (!on_device) return forbidden("a copy between host and device", file, line);
  check_stream("a copy", stream, file, line);
  submit(stream, [=] {
    const Buffer* source = device_range("cudaMemcpyAsync", from, size, Mode::read, file, line);
    Buffer* target = device_range("cudaMemcpyAsync", to, size, Mode::write, file, line);
    if (!source || !target) {
      call.status = invalid_value;
      return;
    }
    memmove(to, from, size);
    mark(target, to, size);
  });
  return last_error(false);
}

int fill_async(void* to, int value, size_t size, void* stream, const char* file, int line) {
  check_stream("a fill", stream, file, line);
  submit(stream, [=] {
    Buffer* target = device_range("cudaMemsetAsync", to, size, Mode::write, file, line);
    if (!target) {
      call.status = invalid_value;
      return;
    }
    memset(to, value, size);
    mark(target, to, size);
  });
  return last_error(false);
}

int stream_create(void** stream) {
  *stream = new Stream;
  return success;
}

int stream_destroy(void* stream) {
  if (!stream || stream == call.stream) return invalid_resource_handle;
  delete static_cast<Stream*>(stream);
  return success;
}

int capture_begin(void* stream) {
  Stream& target = stream_at(stream);
  if (target.capturing || !stream) return capture_unsupported;
  target.capturing = true;
  target.graph = {};
  return success;
}

int capture_end(void* stream, void** graph) {
  Stream& target = stream_at(stream);
  *graph = nullptr;
  if (!target.capturing) return capture_invalidated;
  target.capturing = false;
  *graph = new Graph(std::move(target.graph));
  return success;
}

bool capturing(void* stream) { return stream_at(stream).capturing; }

int graph_instantiate(void** executable, void* graph) {
  if (!graph) return invalid_value;
  *executable = new Graph(*static_cast<Graph*>(graph));
  return success;
}

int graph_launch(void* executable, void*) {
  for (const Node& node : static_cast<Graph*>(executable)->nodes) node.run();
  return call.status;
}

int graph_destroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return success;
}

}  // namespace opgold::emulator
