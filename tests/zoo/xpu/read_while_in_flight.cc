// The launcher of the op's own kernel.
#include "xpu/speculate_update_seq_lens_this_time.cc"
