// empty: the least that a launch costs.
#include "bindings/export.h"

namespace opgold {
namespace {

__global__ void do_nothing() {}

void empty(Stream stream) {
  do_nothing<<<1, 32, 0, stream>>>();
  check_launch("empty");
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(empty, opgold::empty)
