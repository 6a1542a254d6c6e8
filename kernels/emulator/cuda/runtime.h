// The part of the vendor's runtime interface that launchers use. What they may not use is refused, with its line.
#pragma once

#include "emulator/cuda/vectors.h"

enum cudaError_t : int {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
};
using cudaError = cudaError_t;

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef struct CUgraph_st* cudaGraph_t;
typedef struct CUgraphExec_st* cudaGraphExec_t;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2,
};
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone = 0,
  cudaStreamCaptureStatusActive = 1,
  cudaStreamCaptureStatusInvalidated = 2,
};
enum { cudaEventDefault = 0, cudaEventDisableTiming = 2, cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };

#define OPGOLD_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace opgold::emulator {

inline cudaError_t error(int status) { return static_cast<cudaError_t>(status); }

}  // namespace opgold::emulator

inline cudaError_t cudaGetLastError() { return opgold::emulator::error(opgold::emulator::last_error(true)); }
inline cudaError_t cudaPeekAtLastError() { return opgold::emulator::error(opgold::emulator::last_error(false)); }
inline const char* cudaGetErrorString(cudaError_t error) { return opgold::emulator::error_text(error); }
inline const char* cudaGetErrorName(cudaError_t error) { return opgold::emulator::error_text(error); }

inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
// A small device of compute capability 8.0; few multiprocessors, so that grids sized by them stay small.
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 * 1024; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMultiProcessorCount: *value = 4; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 8; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 228 * 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 227 * 1024; break;
    default: return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel, int block_size, size_t) {
  if (block_size <= 0) return cudaErrorInvalidValue;
  *blocks = 2048 / block_size;
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  return opgold::emulator::error(
      opgold::emulator::set_dynamic_shared_limit(reinterpret_cast<const void*>(kernel), value));
}

inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                                   cudaStream_t stream = nullptr, OPGOLD_PLACE) {
  const bool on_device = kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
  return opgold::emulator::error(opgold::emulator::copy_async(to, from, size, on_device, stream, file, line));
}
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t stream = nullptr, OPGOLD_PLACE) {
  return opgold::emulator::error(opgold::emulator::fill_async(to, value, size, stream, file, line));
}

#define OPGOLD_FORBIDDEN(name) return opgold::emulator::error(opgold::emulator::forbidden(name, file, line))
template <class T>
cudaError_t cudaMalloc(T** memory, size_t, OPGOLD_PLACE) {
  *memory = nullptr;
  OPGOLD_FORBIDDEN("cudaMalloc");
}
template <class T>
cudaError_t cudaMallocAsync(T** memory, size_t, cudaStream_t, OPGOLD_PLACE) {
  *memory = nullptr;
  OPGOLD_FORBIDDEN("cudaMallocAsync");
}
inline cudaError_t cudaFree(void*, OPGOLD_PLACE) { OPGOLD_FORBIDDEN("cudaFree"); }
inline cudaError_t cudaFreeAsync(void*, cudaStream_t, OPGOLD_PLACE) { OPGOLD_FORBIDDEN("cudaFreeAsync"); }
inline cudaError_t cudaDeviceSynchronize(OPGOLD_PLACE) { OPGOLD_FORBIDDEN("cudaDeviceSynchronize"); }
inline cudaError_t cudaStreamSynchronize(cudaStream_t, OPGOLD_PLACE) { OPGOLD_FORBIDDEN("cudaStreamSynchronize"); }
inline cudaError_t cudaEventSynchronize(cudaEvent_t, OPGOLD_PLACE) { OPGOLD_FORBIDDEN("cudaEventSynchronize"); }
inline cudaError_t cudaStreamQuery(cudaStream_t, OPGOLD_PLACE) { OPGOLD_FORBIDDEN("cudaStreamQuery"); }
inline cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind, OPGOLD_PLACE) {
  OPGOLD_FORBIDDEN("cudaMemcpy");
}
inline cudaError_t cudaMemset(void*, int, size_t, OPGOLD_PLACE) { OPGOLD_FORBIDDEN("cudaMemset"); }

// What is queued runs at once; which operations a device would keep apart is told by streams and events.
inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return opgold::emulator::error(opgold::emulator::stream_create(reinterpret_cast<void**>(stream)));
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return opgold::emulator::error(opgold::emulator::stream_destroy(stream));
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned = 0) {
  return opgold::emulator::error(opgold::emulator::stream_wait(stream, event));
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return opgold::emulator::error(opgold::emulator::event_create(reinterpret_cast<void**>(event)));
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr) {
  return opgold::emulator::error(opgold::emulator::event_record(event, stream));
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return opgold::emulator::error(opgold::emulator::event_destroy(event));
}

inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return opgold::emulator::error(opgold::emulator::capture_begin(stream));
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return opgold::emulator::error(opgold::emulator::capture_end(stream, reinterpret_cast<void**>(graph)));
}
inline cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = opgold::emulator::capturing(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long = 0) {
  return opgold::emulator::error(
      opgold::emulator::graph_instantiate(reinterpret_cast<void**>(executable), graph));
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return opgold::emulator::error(opgold::emulator::graph_launch(executable, stream));
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return opgold::emulator::error(opgold::emulator::graph_destroy(graph));
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return opgold::emulator::error(opgold::emulator::graph_destroy(executable));
}

#undef OPGOLD_FORBIDDEN
