// Launchers of xpu_ordering.xpu.
#include "planted_xpu.h"

PLANTED(stored_then_sent, 1, 1)
PLANTED(read_then_loaded, 1, 1)
PLANTED(stored_then_loaded, 1, 1)
PLANTED(source_changes, 1, 1)
PLANTED(read_in_flight, 1, 1)
PLANTED(overtaken, 1, 1)
PLANTED(barrier_in_flight, 1, 16)
PLANTED(end_in_flight, 1, 1)
PLANTED(load_into_the_dead, 1, 1)
PLANTED(store_from_the_dead, 1, 1)
PLANTED(group_stored_then_sent, 1, 1)
PLANTED(wrong_fence, 1, 16)
PLANTED(missing_barrier, 1, 64)
PLANTED(missing_fence, 1, 64)
PLANTED(missing_global_fence, 1, 64)
PLANTED(published_too_early, 1, 16)
PLANTED(clusters_collide, 8, 16)
PLANTED(group_of_four, 1, bug ? 64 : 16)
PLANTED(plain_then_transfer, 1, 1)
PLANTED(load_behind_transfer, 1, 1)
PLANTED(barrier_in_branch, 1, 16)
PLANTED(left_before_barrier, 1, 16)
PLANTED(endless, 1, 16)
PLANTED(overflow_int, 1, 1)
PLANTED(nothing, 1, 64)
PLANTED(same_value, 2, 2)
PLANTED(same_value_stored, 1, 8)
PLANTED(same_value_in_flight, 2, 2)
PLANTED(ordered, 1, 4)

// The launch itself.
__attribute__((global)) void nothing(const int* x, int* y, long long* z, int n, int bug);

namespace {

using namespace opgold;

void too_many_clusters(Stream stream, Input x, Output y, Wide z, int32_t bug) {
  const int asked = clusters() + (bug ? 1 : 0);
  check_launch("too_many_clusters", nothing<<<asked, 64, stream>>>(x.data, y.data, device_data(z), 0, 0));  // planted too_many_clusters
}

void too_many_cores(Stream stream, Input x, Output y, Wide z, int32_t bug) {
  check_launch("too_many_cores", nothing<<<1, bug ? 65 : 64, stream>>>(x.data, y.data, device_data(z), 0, 0));  // planted too_many_cores
}

void waits(Stream stream, Input x, Output y, Wide z, int32_t bug) {
  if (bug) xpu_wait(stream);  // planted waits
  check_launch("waits", nothing<<<1, 64, stream>>>(x.data, y.data, device_data(z), 0, 0));
}

}  // namespace

OPGOLD_EXPORT(too_many_clusters, too_many_clusters)
OPGOLD_EXPORT(too_many_cores, too_many_cores)
OPGOLD_EXPORT(waits, waits)
