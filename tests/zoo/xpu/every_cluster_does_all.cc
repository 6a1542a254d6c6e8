// The launcher of the op's own kernel.
#include "xpu/naive_update_model_status.cc"
