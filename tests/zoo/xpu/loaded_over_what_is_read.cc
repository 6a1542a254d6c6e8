// The launcher of the op's own kernel.
#include "xpu/speculate_clear_accept_nums.cc"
