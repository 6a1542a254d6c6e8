// Memory of an XPU and of its host, as the arena takes them; and errors of its runtime, as exceptions.
#pragma once

#include <xpu/runtime.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace opgold::xpu {

inline void check(int status, const char* call) {
  if (status != 0) throw std::runtime_error(std::string(call) + ": " + xpu_strerror(status));
}

struct Memory {
  using Stream = XPUStream;

  static void* reserve_device(int64_t bytes) {
    void* address = nullptr;
    check(xpu_malloc(&address, static_cast<uint64_t>(bytes)), "xpu_malloc");
    return address;
  }
  static void* reserve_host(int64_t bytes) {
    void* address = std::malloc(static_cast<size_t>(bytes));
    if (!address) throw std::bad_alloc();
    return address;
  }
  static void release_device(void* address) {
    if (address) xpu_free(address);
  }
  static void release_host(void* address) { std::free(address); }

  // The runtime's copies do not take a stream: what the stream does is waited for.
  static void fill(void* target, int value, int64_t bytes, Stream stream) {
    const std::vector<char> junk(static_cast<size_t>(bytes), static_cast<char>(value));
    send(target, junk.data(), bytes, stream);
  }
  static void send(void* target, const void* source, int64_t bytes, Stream stream) {
    check(xpu_wait(stream), "xpu_wait");
    check(xpu_memcpy(target, source, static_cast<uint64_t>(bytes), XPU_HOST_TO_DEVICE), "xpu_memcpy");
  }
  static void fetch(void* target, const void* source, int64_t bytes, Stream stream) {
    check(xpu_wait(stream), "xpu_wait");
    check(xpu_memcpy(target, source, static_cast<uint64_t>(bytes), XPU_DEVICE_TO_HOST), "xpu_memcpy");
  }
};

}  // namespace opgold::xpu
