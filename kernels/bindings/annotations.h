// What a kernel's author answers for, where the emulator's checks cannot know better. Both hold to the end of the scope
// that they stand in, cost a device nothing, and need a reason in quotes. docs/emulator.md says when to use them.
#pragma once

#ifdef OPGOLD_CHECKED

#include "emulator/core/hooks.h"

namespace opgold::emulator {

struct Excused {
  explicit Excused(ExcuseSite& site) { open_excuse(&site); }
  ~Excused() { close_excuse(); }
  Excused(const Excused&) = delete;
};

}  // namespace opgold::emulator

#define OPGOLD_EXCUSE(kind, reason) OPGOLD_EXCUSE_AT(kind, reason, __LINE__)
#define OPGOLD_EXCUSE_AT(kind, reason, line) OPGOLD_EXCUSE_NAMED(kind, reason, line)
#define OPGOLD_EXCUSE_NAMED(kind, reason, line)                                                                   \
  static_assert(sizeof("" reason "") > 1, "say why");                                                             \
  static ::opgold::emulator::ExcuseSite opgold_site_##kind##line{::opgold::emulator::Excuse::kind, reason, __FILE__, \
                                                                 line};                                           \
  const ::opgold::emulator::Excused opgold_excused_##kind##line(opgold_site_##kind##line)

#else
#define OPGOLD_EXCUSE(kind, reason) static_assert(sizeof("" reason "") > 1, "say why")
#endif

// Writes of several threads to one element: no race as long as each writes what stands there.
#define OPGOLD_SAME_VALUE(reason) OPGOLD_EXCUSE(same_value, reason)
// Accesses that something orders which the emulator does not see: no race with anything.
#define OPGOLD_ORDERED(reason) OPGOLD_EXCUSE(ordered, reason)
