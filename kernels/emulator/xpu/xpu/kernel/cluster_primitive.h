// Stands in for the vendor's header of this name: primitives.
#pragma once

#include "emulator/xpu/arithmetic.h"
#include "emulator/xpu/partition.h"
#include "emulator/xpu/transfer.h"
