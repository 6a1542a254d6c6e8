// Reserves the arena, commits pages round buffers, and writes and verifies canaries.
#include "emulator/core/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace opgold::emulator {

Buffer buffers[slot_count];

namespace {

constexpr uintptr_t base_alignment = 256;
constexpr size_t kept_committed = size_t{1} << 20;  // pages beyond this are given back when a buffer shrinks
uintptr_t arena_base = 0;
int arena_shift = 0;

uintptr_t page_size() {
  static const auto size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

void protect(uintptr_t low, uintptr_t high, int protection) {
  if (low >= high) return;
  if (mprotect(reinterpret_cast<void*>(low), high - low, protection) != 0)
    throw std::runtime_error("the emulator cannot commit " + std::to_string(high - low) + " bytes");
  if (protection == PROT_NONE && high - low > kept_committed)
    madvise(reinterpret_cast<void*>(low), high - low, MADV_DONTNEED);
}

// Makes exactly [low, high) accessible, changing only the pages that differ.
void commit(Buffer& buffer, uintptr_t low, uintptr_t high) {
  if (buffer.page_low == low && buffer.page_high == high) return;
  constexpr int access = PROT_READ | PROT_WRITE;
  if (buffer.page_low >= buffer.page_high || high <= buffer.page_low || low >= buffer.page_high) {
    protect(buffer.page_low, buffer.page_high, PROT_NONE);
    protect(low, high, access);
  } else {
    protect(buffer.page_low, low, PROT_NONE);
    protect(high, buffer.page_high, PROT_NONE);
    protect(low, buffer.page_low, access);
    protect(buffer.page_high, high, access);
  }
  buffer.page_low = low;
  buffer.page_high = high;
}

uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

uint8_t canary_byte(const Buffer& buffer, uintptr_t address) {
  return reinterpret_cast<const uint8_t*>(&buffer.canary)[address % 8];
}

void fill_canary(const Buffer& buffer, uintptr_t low, uintptr_t high) {
  for (; low < high && low % 8; ++low) *reinterpret_cast<uint8_t*>(low) = canary_byte(buffer, low);
  for (; low + 8 <= high; low += 8) memcpy(reinterpret_cast<void*>(low), &buffer.canary, 8);
  for (; low < high; ++low) *reinterpret_cast<uint8_t*>(low) = canary_byte(buffer, low);
}

uintptr_t first_broken(const Buffer& buffer, uintptr_t low, uintptr_t high) {
  auto intact = [&](uintptr_t at) { return *reinterpret_cast<const uint8_t*>(at) == canary_byte(buffer, at); };
  for (; low < high && low % 8; ++low)
    if (!intact(low)) return low;
  for (; low + 8 <= high; low += 8)
    if (memcmp(reinterpret_cast<const void*>(low), &buffer.canary, 8) != 0) break;
  for (; low < high; ++low)
    if (!intact(low)) return low;
  return 0;
}

}  // namespace

const char* reserve_arena() {
  if (arena_base) return nullptr;
  for (int shift = 35; shift >= 28; --shift) {
    const size_t size = size_t{slot_count} << shift;
    void* base = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) continue;
    arena_base = reinterpret_cast<uintptr_t>(base);
    arena_shift = shift;
    current.arena = arena_base;
    current.shift = shift;
    return nullptr;
  }
  return "the emulator cannot reserve an address range; is the virtual memory of this process limited (ulimit -v)?";
}

void place(Buffer& buffer, size_t size, size_t offset, uint64_t seed) {
  const uintptr_t page = page_size();
  const auto slot = static_cast<uintptr_t>(&buffer - buffers);
  const uintptr_t middle = arena_base + (slot << arena_shift) + (uintptr_t{1} << (arena_shift - 1));
  if (size + offset + 4 * page > (uintptr_t{1} << (arena_shift - 1)))
    throw std::runtime_error("a buffer of " + std::to_string(size) + " bytes does not fit the emulator's slots");
  buffer.data = middle + base_alignment + offset;
  buffer.size = size;
  const uintptr_t end = buffer.data + size;
  commit(buffer, middle, (end + 64 + page - 1) / page * page);
  buffer.canary = mix(seed * slot_count + slot + 1);
  fill_canary(buffer, buffer.page_low, buffer.data);
  fill_canary(buffer, end, buffer.page_high);
}

void shadow(Buffer& buffer, size_t granule) {
  buffer.granule_bits = static_cast<uint8_t>(__builtin_ctzll(granule));
  // Sized for the finest granule, so that refining needs no new memory; untouched pages cost nothing.
  const size_t needed = (buffer.size + 16) * sizeof(Record);
  if (needed <= buffer.shadow_bytes) return;
  if (buffer.shadow) munmap(buffer.shadow, buffer.shadow_bytes);
  buffer.shadow = nullptr;
  const size_t bytes = (needed + needed / 2 + 0xffff) & ~size_t{0xffff};
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("the emulator cannot map shadow memory");
  buffer.shadow = static_cast<Record*>(memory);
  buffer.shadow_bytes = bytes;
}

void clear_shadows() {
  for (Buffer& buffer : buffers)
    if (buffer.shadow) madvise(buffer.shadow, buffer.shadow_bytes, MADV_DONTNEED);
}

bool broken_canary(const Buffer& buffer, intptr_t& offset) {
  uintptr_t at = first_broken(buffer, buffer.page_low, buffer.data);
  if (!at) at = first_broken(buffer, buffer.data + buffer.size, buffer.page_high);
  offset = static_cast<intptr_t>(at - buffer.data);
  return at != 0;
}

Buffer* nearest(uintptr_t address) {
  const uintptr_t slot = (address - arena_base) >> arena_shift;
  if (!arena_base || slot >= slot_count || !buffers[slot].present) return nullptr;
  return &buffers[slot];
}

}  // namespace opgold::emulator
