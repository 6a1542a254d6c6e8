// Work on more streams than the caller's: what no event orders may run at once.
#include "planted.h"

namespace {

__global__ void put(const int32_t* x, int32_t* y, int n, int add) {
  if (int(threadIdx.x) < n) y[threadIdx.x] = x[threadIdx.x] + add;
}

__global__ void double_all(int32_t* y) { y[threadIdx.x] *= 2; }

struct Side {
  cudaStream_t stream;
  cudaEvent_t event;

  Side() {
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  }
  ~Side() {
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
  }
  void wait(cudaStream_t waits, cudaStream_t before) {
    cudaEventRecord(event, before);
    cudaStreamWaitEvent(waits, event, 0);
  }
};

void launch_not_joined(opgold::Stream stream, Input x, Output y, int32_t bug) {
  Side side;
  side.wait(side.stream, stream);
  put<<<1, 64, 0, side.stream>>>(x.data, y.data, int(x.size()), 1);  // planted not_joined
  if (!bug) side.wait(stream, side.stream);
}

void launch_not_forked(opgold::Stream stream, Input x, Output y, int32_t bug) {
  Side side;
  if (!bug) side.wait(side.stream, stream);
  put<<<1, 64, 0, side.stream>>>(x.data, y.data, int(x.size()), 1);  // planted not_forked
  side.wait(stream, side.stream);
}

// An event that is recorded too early orders too little.
void launch_recorded_early(opgold::Stream stream, Input x, Output y, int32_t bug) {
  Side side;
  if (bug) side.wait(side.stream, stream);
  put<<<1, 64, 0, stream>>>(x.data, y.data, int(x.size()), 1);
  if (!bug) side.wait(side.stream, stream);
  double_all<<<1, 64, 0, side.stream>>>(y.data);  // planted recorded_early
  side.wait(stream, side.stream);
}

// The caller's stream goes on before the side stream has read what it overwrites.
void launch_overtakes(opgold::Stream stream, Input x, Output y, int32_t bug) {
  Side side;
  put<<<1, 64, 0, stream>>>(x.data, y.data, int(x.size()), 0);
  side.wait(side.stream, stream);
  put<<<1, 32, 0, side.stream>>>(y.data, y.data + 32, 32, 1);
  if (!bug) side.wait(stream, side.stream);
  put<<<1, 32, 0, stream>>>(x.data, y.data, 32, 2);  // planted overtakes
  if (bug) side.wait(stream, side.stream);
}

void launch_two_sides(opgold::Stream stream, Input x, Output y, int32_t bug) {
  Side first, second;
  first.wait(first.stream, stream);
  second.wait(second.stream, stream);
  put<<<1, 32, 0, first.stream>>>(x.data, y.data, 32, 1);
  put<<<1, 32, 0, second.stream>>>(x.data, y.data + (bug ? 31 : 32), 32, 2);  // planted two_sides
  first.wait(stream, first.stream);
  second.wait(stream, second.stream);
}

void launch_fill_beside(opgold::Stream stream, Input x, Output y, int32_t bug) {
  Side side;
  side.wait(side.stream, stream);
  put<<<1, 64, 0, stream>>>(x.data, y.data, 32, 1);
  cudaMemsetAsync(y.data + (bug ? 31 : 32), 0, 32 * sizeof(int32_t), side.stream);  // planted fill_beside
  side.wait(stream, side.stream);
}

void launch_copy_beside(opgold::Stream stream, Input x, Output y, int32_t bug) {
  Side side;
  put<<<1, 64, 0, stream>>>(x.data, y.data, 64, 1);
  side.wait(side.stream, stream);
  cudaMemcpyAsync(y.data, y.data + 32, 32 * sizeof(int32_t), cudaMemcpyDeviceToDevice, side.stream);
  put<<<1, 32, 0, stream>>>(x.data, y.data + 32, bug ? 32 : 0, 2);  // planted copy_beside
  side.wait(stream, side.stream);
}

// A capture takes in the streams that wait for it; a replay keeps their order.
void launch_captured(opgold::Stream stream, Input x, Output y, int32_t bug) {
  Side origin, side;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(origin.stream, cudaStreamCaptureModeGlobal);
  side.wait(side.stream, origin.stream);
  put<<<1, 64, 0, origin.stream>>>(x.data, y.data, 64, 1);
  if (!bug) side.wait(side.stream, origin.stream);
  double_all<<<1, 64, 0, side.stream>>>(y.data);  // planted captured
  side.wait(origin.stream, side.stream);
  cudaStreamEndCapture(origin.stream, &graph);
  cudaGraphInstantiate(&executable, graph);
  cudaGraphDestroy(graph);
  for (int i = 0; i < 2; ++i) cudaGraphLaunch(executable, stream);
  cudaGraphExecDestroy(executable);
}

}  // namespace

OPGOLD_EXPORT(not_joined, launch_not_joined)
OPGOLD_EXPORT(not_forked, launch_not_forked)
OPGOLD_EXPORT(recorded_early, launch_recorded_early)
OPGOLD_EXPORT(overtakes, launch_overtakes)
OPGOLD_EXPORT(two_sides, launch_two_sides)
OPGOLD_EXPORT(fill_beside, launch_fill_beside)
OPGOLD_EXPORT(copy_beside, launch_copy_beside)
OPGOLD_EXPORT(captured, launch_captured)
