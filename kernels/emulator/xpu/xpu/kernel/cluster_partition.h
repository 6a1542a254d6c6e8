// Stands in for the vendor's header of this name: splitting of work.
#pragma once

#include "emulator/xpu/partition.h"
