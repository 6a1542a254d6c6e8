// Timing: one graph of many calls of an entry, replayed between events.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "bindings/abi.h"
#include "bindings/cuda/status.h"
#include "bindings/guarded/arena.h"

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

// What arguments held that are read and written: an op's state. Put back before every replay, so that all replays do the
// same work: a slot that reaches its limit after thousands of calls would do less.
class Kept {
 public:
  Kept(const opgold_tensor* tensors, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
      const opgold_tensor& tensor = tensors[i];
      if (tensor.rank == opgold_absent || !(tensor.flags & opgold_reads) || !(tensor.flags & opgold_writes)) continue;
      size_t bytes = static_cast<size_t>(guarded::element_bytes(tensor.dtype));
      for (int32_t axis = 0; axis < tensor.rank; ++axis) bytes *= static_cast<size_t>(tensor.shape[axis]);
      if (bytes == 0) continue;
      void* copy = nullptr;
      check(cudaMalloc(&copy, bytes));
      pieces_.push_back({tensor.data, copy, bytes});
      check(cudaMemcpy(copy, tensor.data, bytes, cudaMemcpyDeviceToDevice));
    }
    check(cudaDeviceSynchronize());
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    for (const Piece& piece : pieces_) cudaFree(piece.copy);
  }
  void put_back(cudaStream_t stream) const {
    for (const Piece& piece : pieces_)
      check(cudaMemcpyAsync(piece.data, piece.copy, piece.bytes, cudaMemcpyDeviceToDevice, stream));
  }

 private:
  struct Piece {
    void* data;
    void* copy;
    size_t bytes;
  };
  std::vector<Piece> pieces_;
};

// Replays for a while, so that the clocks have risen.
inline void warm_up(cudaStream_t stream, cudaGraphExec_t graph, const Kept& kept) {
  const auto begun = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 4; ++i) {
      kept.put_back(stream);
      check(cudaGraphLaunch(graph, stream));
    }
    check(cudaStreamSynchronize(stream));
  } while (std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(50));
}

// Replays are enqueued without a pause, so that the host's part of a launch does not show.
inline void replay(cudaStream_t stream, cudaGraphExec_t graph, const Kept& kept, int launches, int samples,
                   double* seconds) {
  std::vector<OwnedEvent> begins(samples), ends(samples);
  for (OwnedEvent& event : begins) check(cudaEventCreate(&event.handle));
  for (OwnedEvent& event : ends) check(cudaEventCreate(&event.handle));
  check(cudaGraphLaunch(graph, stream));  // keeps the device busy while the rest is enqueued
  for (int i = 0; i < samples; ++i) {
    kept.put_back(stream);
    check(cudaEventRecord(begins[i], stream));
    check(cudaGraphLaunch(graph, stream));
    check(cudaEventRecord(ends[i], stream));
  }
  check(cudaStreamSynchronize(stream));
  for (int i = 0; i < samples; ++i) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begins[i], ends[i]));
    seconds[i] = milliseconds * 1e-3 / launches;
  }
}

// `enter` calls the entry on a stream and returns what it refused, or an empty string.
template <class Enter>
void time(cudaStream_t stream, Enter enter, const Kept& kept, int launches, int samples, double* seconds) {
  const std::string refusal = enter(stream);  // loads the kernels, which capture may not do
  if (!refusal.empty()) throw Refused(refusal);
  check(cudaStreamSynchronize(stream));
  OwnedGraph graph;
  capture(stream, launches, enter, graph);
  OwnedExecutable executable;
  check(cudaGraphInstantiate(&executable.handle, graph, 0));
  warm_up(stream, executable, kept);
  replay(stream, executable, kept, launches, samples, seconds);
}

}  // namespace opgold::cuda
