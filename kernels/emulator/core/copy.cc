// Copies and fills that are queued on a stream.
#include <algorithm>
#include <cstring>

#include "emulator/core/arena.h"
#include "emulator/core/block.h"
#include "emulator/core/findings.h"
#include "emulator/core/shadow.h"
#include "emulator/core/stream.h"

namespace opgold::emulator {

namespace {

// One side of a copy or fill.
struct Side {
  const char* name;
  const void* address;
  size_t size;
  Mode mode;
  const char* file;
  int line;

  Finding finding(const char* kind, Buffer* buffer, size_t offset) const {
    Finding f{kind};
    f.access = access_name(mode);
    f.buffer = buffer;
    f.size = size;
    if (buffer) f.element = static_cast<int64_t>(offset) / buffer->item;
    f.file = file;
    f.line = line;
    f.detail = std::string(name) + " of " + std::to_string(size) + " bytes";
    return f;
  }
};

// The device buffer that holds the bytes, or null after a finding.
Buffer* device_range(const Side& side) {
  Buffer* buffer = nearest(reinterpret_cast<uintptr_t>(side.address));
  const size_t offset = buffer ? reinterpret_cast<uintptr_t>(side.address) - buffer->data : 0;
  const bool inside = buffer && offset <= buffer->size && side.size <= buffer->size - offset;
  const char* kind = !buffer ? "host-memory" : !inside ? "bounds" : nullptr;
  if (inside && side.mode == Mode::write && !buffer->writable) kind = "input-write";
  if (inside && side.mode == Mode::read && !initialised(*buffer, offset, side.size)) kind = "uninitialised";
  if (!kind) return buffer;
  add(side.finding(kind, buffer, inside ? offset : std::max(offset, buffer ? buffer->size : 0)));
  return inside ? buffer : nullptr;
}

// Reports what another stream may be doing with the bytes, and remembers that they were used.
void use(Buffer& buffer, const Side& side) {
  const size_t offset = reinterpret_cast<uintptr_t>(side.address) - buffer.data;
  const std::string other = use_range(buffer, offset, side.size, side.mode);
  if (other.empty()) return;
  Finding f = side.finding("race", &buffer, offset);
  f.detail += " and " + other + ", which no event orders";
  add(std::move(f));
}

void begin(Timeline& timeline, const Side& side) {
  ++current.epoch;
  const uint32_t first = queue(timeline, {0, 0, 0, side.name, side.file, side.line, {}, {}, false});
  current.block_start = current.launch_start = current.epoch;
  for (int i = 0; i < call.tensor_count; ++i) buffers[i].fence = first;
}

}  // namespace

int copy_async(void* to, const void* from, size_t size, bool on_device, void* stream, const char* file, int line) {
  if (!on_device) return forbidden("a copy between host and device", file, line);
  check_stream("a copy", stream, file, line);
  submit(stream, [=](Timeline& timeline) {
    const Side source{"cudaMemcpyAsync", from, size, Mode::read, file, line};
    const Side target{"cudaMemcpyAsync", to, size, Mode::write, file, line};
    begin(timeline, target);
    Buffer *read = device_range(source), *written = device_range(target);
    if (!read || !written) {
      call.status = invalid_value;
      return;
    }
    memmove(to, from, size);
    use(*read, source);
    use(*written, target);
  });
  return last_error(false);
}

int fill_async(void* to, int value, size_t size, void* stream, const char* file, int line) {
  check_stream("a fill", stream, file, line);
  submit(stream, [=](Timeline& timeline) {
    const Side target{"cudaMemsetAsync", to, size, Mode::write, file, line};
    begin(timeline, target);
    Buffer* written = device_range(target);
    if (!written) {
      call.status = invalid_value;
      return;
    }
    memset(to, value, size);
    use(*written, target);
  });
  return last_error(false);
}

}  // namespace opgold::emulator
