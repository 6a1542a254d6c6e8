// Stands in for the vendor's header of this name: the runtime interface and the device language, on a CPU.
#pragma once

#include "emulator/cuda/language.h"
#include "emulator/cuda/vectors.h"
#include "emulator/cuda/runtime.h"
#include "emulator/cuda/launcher.h"
#include "emulator/common/shared_variable.h"
#include "emulator/cuda/collectives.h"
#include "emulator/cuda/atomics.h"
#include "emulator/cuda/intrinsics.h"
