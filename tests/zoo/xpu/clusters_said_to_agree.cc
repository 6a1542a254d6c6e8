// The launcher of the op's own kernel.
#include "xpu/speculate_get_seq_lens_output.cc"
