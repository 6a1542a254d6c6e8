// The part of the XPU runtime that opgold calls, declared and no more: for a compiler that checks types.
#pragma once

#include <cstdint>

typedef void* XPUStream;
enum XPUDeviceAttr { XPUATTR_NUM_CLUSTER };
enum XPUMemcpyKind { XPU_HOST_TO_DEVICE, XPU_DEVICE_TO_HOST, XPU_DEVICE_TO_DEVICE };
enum XPUMemoryKind { XPU_MEM_MAIN, XPU_MEM_L3 };
struct float16 {
  uint16_t bits;
};
struct bfloat16 {
  uint16_t bits;
};

int xpu_malloc(void** pointer, uint64_t size, XPUMemoryKind kind = XPU_MEM_MAIN);
int xpu_free(void* pointer);
int xpu_memcpy(void* target, const void* source, uint64_t size, XPUMemcpyKind kind);
int xpu_wait(XPUStream stream = nullptr);
int xpu_stream_create(XPUStream* stream);
int xpu_device_count(int* count);
int xpu_current_device(int* device);
int xpu_device_get_attr(uint64_t* value, XPUDeviceAttr attribute, int device);
const char* xpu_strerror(int status);
