// What -fsanitize=thread calls at each load and store, and what the linker puts in the place of memcpy and its kin.
#include <cstring>

#include "emulator/core/fibre.h"
#include "emulator/core/handshake.h"
#include "emulator/core/shadow.h"

using namespace opgold::emulator;

#define OPGOLD_EXPORTED extern "C" __attribute__((visibility("default")))

#define OPGOLD_ACCESS(name, mode, size)                                   \
  OPGOLD_EXPORTED void __tsan_##name##size(void* address) {               \
    check<mode>(reinterpret_cast<uintptr_t>(address), size, OPGOLD_CALLER); \
  }
#define OPGOLD_SIZES(name, mode) \
  OPGOLD_ACCESS(name, mode, 1)   \
  OPGOLD_ACCESS(name, mode, 2)   \
  OPGOLD_ACCESS(name, mode, 4)   \
  OPGOLD_ACCESS(name, mode, 8)   \
  OPGOLD_ACCESS(name, mode, 16)

OPGOLD_SIZES(read, Mode::read)
OPGOLD_SIZES(write, Mode::write)
OPGOLD_SIZES(unaligned_read, Mode::read)
OPGOLD_SIZES(unaligned_write, Mode::write)
OPGOLD_SIZES(unaligned_volatile_read, Mode::read)
OPGOLD_SIZES(unaligned_volatile_write, Mode::write)
// clang's compound accesses: a read, then a write of the same place
OPGOLD_SIZES(read_write, Mode::write)
OPGOLD_SIZES(unaligned_read_write, Mode::write)

namespace {

bool is_local(uintptr_t address) { return address - current.stack_low < stack_size; }

// A volatile access may be half of a hand-shake: a write is if its thread has fenced before.
void volatile_read(uintptr_t address, size_t size, uintptr_t pc) {
  if (!running.request || on_xpu() || is_local(address)) return check<Mode::read>(address, size, pc);
  polled(reinterpret_cast<const void*>(address));
  check<Mode::read, true>(address, size, pc);
  if (handshake::used) handshake::read(address);
}
void volatile_write(uintptr_t address, size_t size, uintptr_t pc) {
  if (!handshake::used || !running.request || is_local(address) || !handshake::tells())
    return check<Mode::write>(address, size, pc);
  current.tag |= telling_bit;
  check<Mode::write, true>(address, size, pc);
  current.tag &= static_cast<uint16_t>(~telling_bit);
  handshake::write(address, false);
}

}  // namespace

#define OPGOLD_VOLATILE(size)                                                                 \
  OPGOLD_EXPORTED void __tsan_volatile_read##size(void* address) {                            \
    volatile_read(reinterpret_cast<uintptr_t>(address), size, OPGOLD_CALLER);                 \
  }                                                                                           \
  OPGOLD_EXPORTED void __tsan_volatile_write##size(void* address) {                           \
    volatile_write(reinterpret_cast<uintptr_t>(address), size, OPGOLD_CALLER);                \
  }
OPGOLD_VOLATILE(1)
OPGOLD_VOLATILE(2)
OPGOLD_VOLATILE(4)
OPGOLD_VOLATILE(8)
OPGOLD_VOLATILE(16)

namespace {

template <Mode mode>
void check_range(const void* address, size_t size, uintptr_t pc) {
  if (size) check<mode>(reinterpret_cast<uintptr_t>(address), size, pc);
}

}  // namespace

OPGOLD_EXPORTED void __tsan_read_range(void* address, unsigned long size) {
  check_range<Mode::read>(address, size, OPGOLD_CALLER);
}
OPGOLD_EXPORTED void __tsan_write_range(void* address, unsigned long size) {
  check_range<Mode::write>(address, size, OPGOLD_CALLER);
}

OPGOLD_EXPORTED void __tsan_init() {}
OPGOLD_EXPORTED void __tsan_func_entry(void*) {}
OPGOLD_EXPORTED void __tsan_func_exit() {}
OPGOLD_EXPORTED void __tsan_vptr_read(void**) {}
OPGOLD_EXPORTED void __tsan_vptr_update(void**, void*) {}
OPGOLD_EXPORTED void __tsan_ignore_thread_begin() {}
OPGOLD_EXPORTED void __tsan_ignore_thread_end() {}
OPGOLD_EXPORTED void __tsan_atomic_thread_fence(int) {}
OPGOLD_EXPORTED void __tsan_atomic_signal_fence(int) {}

// std::atomic and the compiler's own atomics, which host code in a unit may use.
#define OPGOLD_ATOMIC(bits, T)                                                                                       \
  OPGOLD_EXPORTED T __tsan_atomic##bits##_load(const volatile T* a, int) {                                           \
    check<Mode::atomic>(reinterpret_cast<uintptr_t>(a), sizeof(T), OPGOLD_CALLER);                                   \
    return *a;                                                                                                       \
  }                                                                                                                  \
  OPGOLD_EXPORTED void __tsan_atomic##bits##_store(volatile T* a, T v, int) {                                        \
    check<Mode::atomic>(reinterpret_cast<uintptr_t>(a), sizeof(T), OPGOLD_CALLER);                                   \
    *a = v;                                                                                                          \
  }                                                                                                                  \
  OPGOLD_ATOMIC_UPDATE(bits, T, exchange, v)                                                                         \
  OPGOLD_ATOMIC_UPDATE(bits, T, fetch_add, static_cast<T>(old + v))                                                  \
  OPGOLD_ATOMIC_UPDATE(bits, T, fetch_sub, static_cast<T>(old - v))                                                  \
  OPGOLD_ATOMIC_UPDATE(bits, T, fetch_and, static_cast<T>(old& v))                                                   \
  OPGOLD_ATOMIC_UPDATE(bits, T, fetch_or, static_cast<T>(old | v))                                                   \
  OPGOLD_ATOMIC_UPDATE(bits, T, fetch_xor, static_cast<T>(old ^ v))                                                  \
  OPGOLD_EXPORTED int __tsan_atomic##bits##_compare_exchange_strong(volatile T* a, T* expected, T v, int, int) {     \
    check<Mode::atomic>(reinterpret_cast<uintptr_t>(a), sizeof(T), OPGOLD_CALLER);                                   \
    if (*a == *expected) return *a = v, 1;                                                                           \
    return *expected = *a, 0;                                                                                        \
  }                                                                                                                  \
  OPGOLD_EXPORTED int __tsan_atomic##bits##_compare_exchange_weak(volatile T* a, T* expected, T v, int, int) {       \
    check<Mode::atomic>(reinterpret_cast<uintptr_t>(a), sizeof(T), OPGOLD_CALLER);                                   \
    if (*a == *expected) return *a = v, 1;                                                                           \
    return *expected = *a, 0;                                                                                        \
  }                                                                                                                  \
  OPGOLD_EXPORTED T __tsan_atomic##bits##_compare_exchange_val(volatile T* a, T expected, T v, int, int) {           \
    check<Mode::atomic>(reinterpret_cast<uintptr_t>(a), sizeof(T), OPGOLD_CALLER);                                   \
    const T old = *a;                                                                                                \
    if (old == expected) *a = v;                                                                                     \
    return old;                                                                                                      \
  }
#define OPGOLD_ATOMIC_UPDATE(bits, T, name, result)                                \
  OPGOLD_EXPORTED T __tsan_atomic##bits##_##name(volatile T* a, T v, int) {        \
    check<Mode::atomic>(reinterpret_cast<uintptr_t>(a), sizeof(T), OPGOLD_CALLER); \
    const T old = *a;                                                              \
    *a = result;                                                                   \
    return old;                                                                    \
  }

OPGOLD_ATOMIC(8, unsigned char)
OPGOLD_ATOMIC(16, unsigned short)
OPGOLD_ATOMIC(32, unsigned int)
OPGOLD_ATOMIC(64, unsigned long long)

#define OPGOLD_COPY(name, function)                                      \
  OPGOLD_EXPORTED void* name(void* to, const void* from, size_t size) {  \
    check_range<Mode::read>(from, size, OPGOLD_CALLER);                  \
    check_range<Mode::write>(to, size, OPGOLD_CALLER);                   \
    return function(to, from, size);                                     \
  }
#define OPGOLD_FILL(name)                                           \
  OPGOLD_EXPORTED void* name(void* to, int value, size_t size) {    \
    check_range<Mode::write>(to, size, OPGOLD_CALLER);              \
    return memset(to, value, size);                                 \
  }
OPGOLD_COPY(__wrap_memcpy, memcpy)
OPGOLD_COPY(__wrap_memmove, memmove)
OPGOLD_FILL(__wrap_memset)
OPGOLD_COPY(__tsan_memcpy, memcpy)
OPGOLD_COPY(__tsan_memmove, memmove)
OPGOLD_FILL(__tsan_memset)

namespace opgold::emulator {

void atomic_access(void* address, size_t size) {
  polled(address);
  if (handshake::used && handshake::tells()) current.tag |= telling_bit;
  check<Mode::atomic>(reinterpret_cast<uintptr_t>(address), size, OPGOLD_CALLER);
  current.tag &= static_cast<uint16_t>(~telling_bit);
  if (handshake::used) handshake::read(reinterpret_cast<uintptr_t>(address));
}

void publish(void* address) {
  if (handshake::used) handshake::write(reinterpret_cast<uintptr_t>(address), true);
}

void thread_fence(Scope scope) {
  if (running.request) handshake::fence(scope);
}

}  // namespace opgold::emulator
