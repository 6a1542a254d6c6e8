// Stands in for the vendor's header of this name: the device language.
#pragma once

#include "emulator/xpu/language.h"
#include "emulator/xpu/transfer.h"
#include "emulator/xpu/floats.h"
