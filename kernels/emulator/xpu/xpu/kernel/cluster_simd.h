// Stands in for the vendor's header of this name: vectors.
#pragma once

#include "emulator/xpu/vectors.h"
