// What threads know, and the places through which they tell it.
#include "emulator/core/handshake.h"

#include <unordered_map>

#include "emulator/core/clock.h"

namespace opgold::emulator::handshake {

bool used = false;

namespace {

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
  Known past{current.epoch, {}};
  for (int lane = 0; warp.clocks_used && lane < 32; ++lane)
    past.note({static_cast<uint16_t>(first + lane), warp.clock[self % 32][lane]});
  past.note({static_cast<uint16_t>(self), current.warp_time});
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
