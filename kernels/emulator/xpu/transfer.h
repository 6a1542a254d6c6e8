// Transfers between memories: (source, target, bytes), waited for, or not until a fence (`_ASYNC`).
#pragma once

#include "emulator/xpu/language.h"

// Bytes from `pointer` to the end of its variable, where the compiler can tell.
#if defined(__has_builtin)
#if __has_builtin(__builtin_dynamic_object_size)
#define OPGOLD_ROOM(pointer) __builtin_dynamic_object_size(pointer, 0)
#endif
#endif
#ifndef OPGOLD_ROOM
#define OPGOLD_ROOM(pointer) __builtin_object_size(pointer, 0)
#endif

#ifdef OPGOLD_CHECKED
#define OPGOLD_WATCHED true
#else
#define OPGOLD_WATCHED false
#endif

#define OPGOLD_TRANSFER_CALL(call, from, to, wait, local)                                                       \
  inline __attribute__((always_inline)) int call(const void* source, void* target, long long bytes) {          \
    using Space = ::opgold::emulator::Space;                                                                    \
    ::opgold::emulator::transfer(#call, Space::from, Space::to, source, target, bytes, wait, OPGOLD_ROOM(local), \
                                  OPGOLD_WATCHED);                                                              \
    return 0;                                                                                                   \
  }
#define OPGOLD_TRANSFER(name, from, to, local)       \
  OPGOLD_TRANSFER_CALL(name, from, to, true, local) \
  OPGOLD_TRANSFER_CALL(name##_ASYNC, from, to, false, local)

OPGOLD_TRANSFER(GM2LM, global, local, target)
OPGOLD_TRANSFER(LM2GM, local, global, source)
OPGOLD_TRANSFER(GM2SM, global, shared, target)
OPGOLD_TRANSFER(SM2GM, shared, global, source)
OPGOLD_TRANSFER(GM2GSM, global, group, target)
OPGOLD_TRANSFER(GSM2GM, group, global, source)
OPGOLD_TRANSFER(LM2SM, local, shared, source)
OPGOLD_TRANSFER(SM2LM, shared, local, target)

#undef OPGOLD_TRANSFER
#undef OPGOLD_TRANSFER_CALL
#undef OPGOLD_WATCHED
