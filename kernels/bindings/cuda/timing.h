// Timing: one graph of many calls of an entry, replayed between events.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "bindings/abi.h"
#include "bindings/cuda/status.h"

namespace opgold::cuda {

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Handle, cudaError_t (*Destroy)(Handle)>
struct Owned {
  Handle handle = nullptr;
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle) Destroy(handle);
  }
  operator Handle() const { return handle; }
};
using OwnedGraph = Owned<cudaGraph_t, cudaGraphDestroy>;
using OwnedExecutable = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;
using OwnedEvent = Owned<cudaEvent_t, cudaEventDestroy>;

template <class Enter>
void capture(cudaStream_t stream, int launches, Enter enter, OwnedGraph& graph) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  std::string refusal;
  for (int i = 0; i < launches && refusal.empty(); ++i) refusal = enter(stream);
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph.handle);
  cudaGetLastError();
  if (!refusal.empty()) throw Refused(refusal);
  if (ended != cudaSuccess) throw Refused("cannot be captured in a graph: " + describe(ended));
}

// Replays for a while, so that the clocks have risen.
inline void warm_up(cudaStream_t stream, cudaGraphExec_t graph) {
  const auto begun = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 4; ++i) check(cudaGraphLaunch(graph, stream));
    check(cudaStreamSynchronize(stream));
  } while (std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(50));
}

// Replays follow one another without a pause, so that the host's part of a launch does not show.
inline void replay(cudaStream_t stream, cudaGraphExec_t graph, int launches, int samples, double* seconds) {
  std::vector<OwnedEvent> events(samples + 1);
  for (OwnedEvent& event : events) check(cudaEventCreate(&event.handle));
  check(cudaGraphLaunch(graph, stream));  // keeps the device busy while the rest is enqueued
  check(cudaEventRecord(events[0], stream));
  for (int i = 0; i < samples; ++i) {
    check(cudaGraphLaunch(graph, stream));
    check(cudaEventRecord(events[i + 1], stream));
  }
  check(cudaStreamSynchronize(stream));
  for (int i = 0; i < samples; ++i) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events[i], events[i + 1]));
    seconds[i] = milliseconds * 1e-3 / launches;
  }
}

// `enter` calls the entry on a stream and returns what it refused, or an empty string.
template <class Enter>
void time(cudaStream_t stream, Enter enter, int launches, int samples, double* seconds) {
  const std::string refusal = enter(stream);  // loads the kernels, which capture may not do
  if (!refusal.empty()) throw Refused(refusal);
  check(cudaStreamSynchronize(stream));
  OwnedGraph graph;
  capture(stream, launches, enter, graph);
  OwnedExecutable executable;
  check(cudaGraphInstantiate(&executable.handle, graph, 0));
  warm_up(stream, executable);
  replay(stream, executable, launches, samples, seconds);
}

}  // namespace opgold::cuda
