// Stands in for the vendor header of this name: everything is declared in cluster.h.
#pragma once

#include <xpu/kernel/cluster.h>
