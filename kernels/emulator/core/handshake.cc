// Clocks of threads, and of the places through which they talk. Blocks run one after another, so that few are in a clock.
#include "emulator/core/handshake.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

namespace opgold::emulator::handshake {

bool used = false;

namespace {

// What is over of one block: everything before an epoch, and of each thread everything up to its time.
struct Known {
  uint32_t epoch = 0;
  std::vector<uint16_t> times;

  bool has(const Known& other) const {
    if (epoch < other.epoch || times.size() < other.times.size()) return false;
    return std::equal(other.times.begin(), other.times.end(), times.begin(), [](uint16_t a, uint16_t b) { return a <= b; });
  }
  void join(const Known& other) {
    epoch = std::max(epoch, other.epoch);
    if (times.size() < other.times.size()) times.resize(other.times.size());
    for (size_t i = 0; i < other.times.size(); ++i) times[i] = std::max(times[i], other.times[i]);
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
      else if (known->has(*own->second)) own->second = known;
      else add(own->second, *known);
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
    const size_t thread = access.thread & thread_mask;
    const Known& known = *own->second;
    return access.epoch < known.epoch || (thread < known.times.size() && access.warp_time <= known.times[thread]);
  }
  bool empty() const { return blocks_.empty(); }

 private:
  using Entry = std::pair<uint32_t, std::shared_ptr<const Known>>;
  static void add(std::shared_ptr<const Known>& to, const Known& known) {
    auto sum = std::make_shared<Known>(*to);
    sum->join(known);
    to = std::move(sum);
  }
  std::vector<Entry> blocks_;
};

// By scope: what a fence of the block alone told, and what a fence of the device told.
struct Clocks {
  Clock of[2];

  Clock& operator[](Scope scope) { return of[static_cast<int>(scope)]; }
  void join(const Clocks& other) {
    for (int i = 0; i < 2; ++i) of[i].join(other.of[i]);
  }
};

struct Party {
  Clock known;
  Clocks told;   // what its next atomic write tells: all that it knew at its last fence
  Clocks heard;  // what its atomic reads met, and what its next fence will make known
  bool touched = false;

  void join(const Party& other) {
    known.join(other.known);
    told.join(other.told);
    heard.join(other.heard);
  }
};

struct Place {
  Clocks told;
  uint32_t block = 0;  // whose block scope it is
};

Party everybody;  // what all threads of the block have in common since their last barrier
Party parties[max_threads];
std::vector<int> touched;
std::unordered_map<uintptr_t, Place> places;

Party& party(int thread) {
  Party& self = parties[thread];
  if (!self.touched) {
    self.touched = true;
    touched.push_back(thread);
  }
  return self;
}

Place& place_at(uintptr_t address) {
  Place& place = places[address];
  if (place.block != current.block_start) place.told[Scope::block] = {};
  place.block = current.block_start;
  return place;
}

void forget_parties() {
  for (const int thread : touched) parties[thread] = {};
  touched.clear();
}

// What the running thread has done itself, what came before the last barrier, and what __syncwarp told it.
Known own_past() {
  const int self = current.thread, first = self / 32 * 32;
  const Warp& warp = warps[self / 32];
  Known past{current.epoch, std::vector<uint16_t>(static_cast<size_t>(block.size))};
  if (warp.clocks_used)
    for (int lane = 0; lane < 32 && first + lane < block.size; ++lane)
      past.times[static_cast<size_t>(first + lane)] = warp.clock[self % 32][lane];
  past.times[static_cast<size_t>(self)] = current.warp_time;
  return past;
}

}  // namespace

void begin_launch() {
  used = false;
  places.clear();
}

void begin_block() {
  if (!used) return;
  forget_parties();
  everybody = {};
}

void fence(Scope scope) {
  if (!used) {
    used = true;
    forget_parties();
    everybody = {};
  }
  Party& self = party(current.thread);
  for (const Scope each : {Scope::block, Scope::device}) {
    if (each > scope) break;
    self.known.join(everybody.heard[each]);
    self.known.join(self.heard[each]);
  }
  Clock past = everybody.known;
  past.join(self.known);
  past.join(current.block_start, own_past());
  for (const Scope each : {Scope::block, Scope::device})
    if (each <= scope) self.told[each] = past;
  if (current.warp_time != UINT16_MAX) ++current.warp_time;  // saturates, as at __syncwarp
  threads[current.thread].warp_time = current.warp_time;
}

void read(uintptr_t address) {
  const auto place = places.find(address);
  if (place == places.end()) return;
  party(current.thread).heard.join(place_at(address).told);
}

bool tells() {
  return !parties[current.thread].told[Scope::block].empty() || !everybody.told[Scope::block].empty();
}

void write(uintptr_t address, bool update) {
  if (!update) places.erase(address);
  if (!tells()) return;
  Place& place = place_at(address);
  place.told.join(everybody.told);
  place.told.join(parties[current.thread].told);
}

void pass_barrier() {
  for (const int thread : touched) everybody.join(parties[thread]);
  forget_parties();
}

void pass_syncwarp(int warp, uint32_t lanes) {
  Party joined;
  for (const int thread : touched)
    if (thread / 32 == warp && lanes >> (thread % 32) & 1) joined.join(parties[thread]);
  for (uint32_t rest = lanes; rest; rest &= rest - 1) party(warp * 32 + __builtin_ctz(rest)).join(joined);
}

bool ordered(const Access& earlier) {
  const uint32_t start = block_start_at(earlier.epoch);
  return everybody.known.knows(start, earlier) || parties[current.thread].known.knows(start, earlier);
}

}  // namespace opgold::emulator::handshake
