// meeting: the launcher.
#include "bindings/export.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void meet(const int* source, int* target, int n, int barriers);

}  // namespace xpu

namespace {

void meeting(Stream stream, Tensor<const int32_t, 1> source, Tensor<int32_t, 1> target, int32_t barriers) {
  target.require(0, source.shape[0], "elements of source");
  check_launch("meeting", xpu::meet<<<1, cores(), stream>>>(source.data, target.data, count_of(source, 0),
                                                                  int(barriers)));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(meeting, opgold::meeting)
