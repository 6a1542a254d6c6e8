// planted: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void planted(const Int64* numbers, Int64* y, Int64 count);

}  // namespace xpu

namespace {

void planted(Stream stream, Tensor<const int64_t, 1> numbers, Tensor<int64_t, 1> y) {
  check_launch("planted", xpu::planted<<<1, cores(), stream>>>(device_data(numbers), device_data(y), y.shape[0]));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(planted, opgold::planted)
