// 64-bit integers under one name: `int64_t` is another type on the device than on its host.
#pragma once

namespace opgold {

typedef long long Int64;

}  // namespace opgold
