// The vendor SDK that a unit is compiled against.
#pragma once

#ifdef OPGOLD_XPU
#include "bindings/xpu/vendor.h"
#else
#include "bindings/cuda/vendor.h"
#endif
