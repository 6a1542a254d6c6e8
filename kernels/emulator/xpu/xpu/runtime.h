// Stands in for the vendor's header of this name: the host interface.
#pragma once

#include "emulator/xpu/runtime.h"
