// The arena: every buffer of a call in one device allocation, between red zones; and two images of it in host memory,
// `before` as it is sent and `after` as it comes back. What the call may not change is the same in both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bindings/abi.h"

namespace opgold::guarded {

constexpr int64_t alignment = 256;
constexpr int64_t least_zone = 4096;
constexpr int64_t greatest_zone = 1 << 20;

inline int64_t element_bytes(int32_t dtype) {
  static const int64_t bytes[] = {1, 1, 1, 4, 8, 2, 2, 4, 8};
  return dtype >= 1 && dtype <= 8 ? bytes[dtype] : 1;
}

inline int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Where one tensor lies: offsets into the arena. Its red zones are [low, begin) and [end, high).
struct Placement {
  int32_t tensor;
  int64_t low, begin, end, high, element;
};

// A stretch of bytes that differ: the offset of the first, and how many bytes and elements of a tensor it touches.
struct Difference {
  int64_t first = -1, bytes = 0, elements = 0;
};

// `Memory` is a vendor's: a Stream; reserve_device, reserve_host, release_device, release_host; fill, send and fetch, which
// a stream enqueues. Its functions throw.
template <class Memory>
class Arena {
 public:
  using Stream = typename Memory::Stream;

  // Lays the tensors out and writes the image `before`: red zones, then each tensor's host data.
  void place(const opgold_tensor* tensors, int32_t count, const opgold_options& options) {
    placements_.clear();
    used_ = 0;
    for (int32_t i = 0; i < count; ++i)
      if (tensors[i].rank != opgold_absent) placements_.push_back(next(tensors[i], i, options.shift));
    reserve(used_);
    for (const Placement& p : placements_) {
      fill(p.low, p.begin, options.seed * 1024 + 2 * p.tensor);
      fill(p.end, p.high, options.seed * 1024 + 2 * p.tensor + 1);
      if (p.end > p.begin) std::memcpy(before_ + p.begin, tensors[p.tensor].data, p.end - p.begin);
    }
  }

  const std::vector<Placement>& placements() const { return placements_; }
  char* address(const Placement& p) const { return device_ + p.begin; }

  // The tensors as an entry takes them: in the arena.
  std::vector<opgold_tensor> placed(std::vector<opgold_tensor> tensors, int32_t device) const {
    for (const Placement& p : placements_) {
      tensors[p.tensor].data = address(p);
      tensors[p.tensor].device = device;
    }
    return tensors;
  }

  // Enqueues the arena's content. It is junk until `send` has run, so that work which does not wait for the stream shows.
  void spoil(Stream stream) {
    if (used_) Memory::fill(device_, 0xa5, used_, stream);
  }
  void send(Stream stream) {
    if (used_) Memory::send(device_, before_, used_, stream);
  }
  void fetch(Stream stream) {
    if (used_) Memory::fetch(after_, device_, used_, stream);
  }

  void take(const Placement& p, void* target) const {
    if (p.end > p.begin) std::memcpy(target, after_ + p.begin, p.end - p.begin);
  }

  // What of [low, high) the call changed; elements are counted from p.begin.
  Difference changed(const Placement& p, int64_t low, int64_t high) const {
    Difference difference;
    if (low >= high || !std::memcmp(before_ + low, after_ + low, high - low)) return difference;
    int64_t last = 0;
    for (int64_t at = low; at < high; ++at) {
      if (before_[at] == after_[at]) continue;
      const int64_t element = element_of(p, at);
      if (difference.first < 0) difference.first = at;
      if (!difference.bytes++ || element != last) ++difference.elements;
      last = element;
    }
    return difference;
  }

  // The element, counted from the tensor's first, that holds a byte of the arena; below zero in front of the tensor.
  static int64_t element_of(const Placement& p, int64_t at) {
    const int64_t distance = at - p.begin;
    return distance >= 0 ? distance / p.element : -((p.element - 1 - distance) / p.element);
  }

 private:
  Placement next(const opgold_tensor& tensor, int32_t index, int64_t shift) {
    int64_t bytes = element_bytes(tensor.dtype);
    Placement p{index, used_, 0, 0, 0, bytes};
    for (int32_t axis = 0; axis < tensor.rank; ++axis) bytes *= tensor.shape[axis];
    const int64_t zone = round_up(std::clamp(bytes / 8, least_zone, greatest_zone), alignment);
    p.begin = p.low + zone + shift * p.element;
    p.end = p.begin + bytes;
    p.high = used_ = round_up(p.end + zone, alignment);
    return p;
  }

  // Each word differs from its neighbours, and each zone from every other.
  void fill(int64_t low, int64_t high, uint64_t seed) {
    uint64_t counter = seed * 0xbf58476d1ce4e5b9u + 1;
    for (; low < high; low += 8, ++counter) {
      uint64_t word = counter * 0x9e3779b97f4a7c15u;
      word ^= word >> 32;
      std::memcpy(before_ + low, &word, std::min<int64_t>(8, high - low));
    }
  }

  void reserve(int64_t bytes) {
    if (bytes <= capacity_) return;
    const int64_t wanted = round_up(bytes + bytes / 4, 1 << 21);
    capacity_ = 0;
    Memory::release_device(device_);
    Memory::release_host(before_);
    Memory::release_host(after_);
    device_ = before_ = after_ = nullptr;
    device_ = static_cast<char*>(Memory::reserve_device(wanted));
    before_ = static_cast<char*>(Memory::reserve_host(wanted));
    after_ = static_cast<char*>(Memory::reserve_host(wanted));
    capacity_ = wanted;
  }

  std::vector<Placement> placements_;
  char *device_ = nullptr, *before_ = nullptr, *after_ = nullptr;
  int64_t used_ = 0, capacity_ = 0;
};

}  // namespace opgold::guarded
