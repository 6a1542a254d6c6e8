// What a thread knows to be over, of which blocks. Blocks run one after another, so that few are in a clock.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "emulator/core/state.h"

namespace opgold::emulator::handshake {

// What is over of one block: everything before an epoch, and of some threads, in order, everything up to a time.
struct Known {
  struct Time {
    uint16_t thread, time;
  };
  uint32_t epoch = 0;
  std::vector<Time> times;

  std::vector<Time>::const_iterator find(uint16_t thread) const {
    return std::lower_bound(times.begin(), times.end(), thread, [](Time own, uint16_t t) { return own.thread < t; });
  }
  uint16_t time_of(uint16_t thread) const {
    const auto own = find(thread);
    return own == times.end() || own->thread != thread ? 0 : own->time;
  }
  void note(Time other) {
    const auto own = times.begin() + (find(other.thread) - times.begin());
    if (own == times.end() || own->thread != other.thread) times.insert(own, other);
    else own->time = std::max(own->time, other.time);
  }
  bool has(const Known& other) const {
    return epoch >= other.epoch && std::all_of(other.times.begin(), other.times.end(),
                                               [this](Time each) { return each.time <= time_of(each.thread); });
  }
  void join(const Known& other) {
    epoch = std::max(epoch, other.epoch);
    for (const Time each : other.times) note(each);
  }
};

// By the first epoch of each block, in order. What two clocks know alike they share.
class Clock {
 public:
  void join(const Clock& other) {
    auto own = blocks_.begin();
    for (const auto& [block, known] : other.blocks_) {
      own = std::lower_bound(own, blocks_.end(), block, [](const Entry& e, uint32_t b) { return e.first < b; });
      if (own == blocks_.end() || own->first != block) own = blocks_.insert(own, {block, known});
      else if (own->second == known || own->second->has(*known)) continue;
      else if (own->second.use_count() == 1) own->second->join(*known);
      else if (known->has(*own->second)) own->second = known;
      else {
        own->second = std::make_shared<Known>(*own->second);
        own->second->join(*known);
      }
    }
  }
  void join(uint32_t block, Known known) {
    Clock one;
    one.blocks_.push_back({block, std::make_shared<Known>(std::move(known))});
    join(one);
  }
  bool knows(uint32_t block, const Access& access) const {
    const auto own =
        std::lower_bound(blocks_.begin(), blocks_.end(), block, [](const Entry& e, uint32_t b) { return e.first < b; });
    if (own == blocks_.end() || own->first != block) return false;
    return access.epoch < own->second->epoch || access.warp_time <= own->second->time_of(access.thread & thread_mask);
  }
  bool empty() const { return blocks_.empty(); }

 private:
  using Entry = std::pair<uint32_t, std::shared_ptr<Known>>;
  std::vector<Entry> blocks_;
};

}  // namespace opgold::emulator::handshake
