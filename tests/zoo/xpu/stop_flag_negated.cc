// The launcher of the op's own kernel.
#include "xpu/draft_model_set_value_by_flags.cc"
