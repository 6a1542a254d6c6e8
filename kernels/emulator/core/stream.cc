// Streams, events, capture and graphs, and what a launcher may not do.
#include <algorithm>
#include <functional>
#include <memory>

#include "emulator/core/findings.h"
#include "emulator/core/launch.h"
#include "emulator/core/operations.h"
#include "emulator/core/stream.h"

namespace opgold::emulator {

Call call;

namespace {

// Captured operations, and what orders them. A kernel's closure is copied, as a real graph copies its parameters.
struct Graph {
  std::vector<std::function<void()>> nodes;
  std::vector<std::shared_ptr<Stream>> streams;  // the one that the capture began on first
};
struct Event {
  uint64_t call = 0;
  StreamClock clock;
  std::shared_ptr<Graph> capture;
};

}  // namespace

struct Stream {
  Timeline timeline;
  std::shared_ptr<Graph> capture;  // null: what is queued runs
};

namespace {

// What the handles of the vendor's interface point to; captured operations outlive a stream's.
using StreamHandle = std::shared_ptr<Stream>;
using EventHandle = std::shared_ptr<Event>;
using GraphHandle = std::shared_ptr<Graph>;

StreamHandle default_stream = std::make_shared<Stream>();

StreamHandle& stream_at(void* stream) { return stream ? *static_cast<StreamHandle*>(stream) : default_stream; }

// Runs it, or keeps it for the graph that is being captured.
void submit(Stream& stream, std::function<void()> run) {
  if (stream.capture) stream.capture->nodes.push_back(std::move(run));
  else run();
}

}  // namespace

Timeline& timeline_of(void* stream) { return stream_at(stream)->timeline; }

void submit(void* stream, std::function<void(Timeline&)> run) {
  if (!call.active) {
    call.status = invalid_resource_handle;
    return;
  }
  const StreamHandle target = stream_at(stream);
  // The default stream is reported, and waits for the caller's, as the vendor's does for every stream.
  if (!stream) join(target->timeline, timeline_of(call.stream).clock);
  submit(*target, [target, run] { run(target->timeline); });
  if (!stream) join(timeline_of(call.stream), target->timeline.clock);
}

// A launcher that forgets its stream works by accident, and cannot be captured.
void check_stream(const char* what, void* stream, const char* file, int line) {
  if (stream || !call.stream) return;
  Finding f{"capture"};
  f.file = file;
  f.line = line;
  f.detail = std::string(what) + " on the default stream, not on the launcher's";
  add(std::move(f));
}

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
  if (!stream_at(request.stream)->capture)
    return submit(request.stream, [&request](Timeline& timeline) { execute(request, timeline); });
  LaunchRequest copy = request;
  std::shared_ptr<void> closure(request.clone(request.closure), request.destroy);
  copy.closure = closure.get();
  submit(request.stream, [copy, closure](Timeline& timeline) { execute(copy, timeline); });
}

int stream_create(void** stream) {
  *stream = new StreamHandle(std::make_shared<Stream>());
  return success;
}

int stream_destroy(void* stream) {
  if (!stream || stream == call.stream) return invalid_resource_handle;
  delete static_cast<StreamHandle*>(stream);
  return success;
}

int event_create(void** event) {
  *event = new EventHandle(std::make_shared<Event>());
  return success;
}

int event_destroy(void* event) {
  if (!event) return invalid_resource_handle;
  delete static_cast<EventHandle*>(event);
  return success;
}

int event_record(void* event, void* stream) {
  if (!event) return invalid_resource_handle;
  const EventHandle target = *static_cast<EventHandle*>(event);
  const StreamHandle source = stream_at(stream);
  target->capture = source->capture;
  submit(*source, [target, source] {
    touch(source->timeline);
    target->call = source->timeline.call;
    target->clock = source->timeline.clock;
  });
  return success;
}

int stream_wait(void* stream, void* event) {
  if (!event) return invalid_resource_handle;
  const EventHandle source = *static_cast<EventHandle*>(event);
  const StreamHandle target = stream_at(stream);
  if (source->capture && !target->capture) {  // the capture takes in whoever waits for it
    target->capture = source->capture;
    target->capture->streams.push_back(target);
  }
  submit(*target, [target, source] {
    touch(target->timeline);
    if (source->call == target->timeline.call) join(target->timeline, source->clock);  // else it is long over
  });
  return success;
}

int capture_begin(void* stream) {
  Stream& target = *stream_at(stream);
  if (target.capture || !stream) return capture_unsupported;
  target.capture = std::make_shared<Graph>();
  target.capture->streams.push_back(stream_at(stream));
  return success;
}

int capture_end(void* stream, void** graph) {
  *graph = nullptr;
  const GraphHandle captured = stream_at(stream)->capture;
  if (!captured || captured->streams[0] != stream_at(stream)) return capture_invalidated;
  for (const StreamHandle& each : captured->streams) each->capture = nullptr;
  *graph = new GraphHandle(captured);
  return success;
}

bool capturing(void* stream) { return stream_at(stream)->capture != nullptr; }

int graph_instantiate(void** executable, void* graph) {
  if (!graph) return invalid_value;
  *executable = new GraphHandle(*static_cast<GraphHandle*>(graph));
  return success;
}

int graph_launch(void* executable, void* stream) {
  const GraphHandle graph = *static_cast<GraphHandle*>(executable);
  Timeline &origin = graph->streams[0]->timeline, &target = timeline_of(stream);
  touch(target);
  join(origin, target.clock);
  for (const auto& run : graph->nodes) run();
  join(target, origin.clock);
  return call.status;
}

int graph_destroy(void* graph) {
  delete static_cast<GraphHandle*>(graph);
  return success;
}

}  // namespace opgold::emulator
