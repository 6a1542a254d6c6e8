// The launcher of the op's own kernel.
#include "xpu/draft_model_postprocess.cc"
