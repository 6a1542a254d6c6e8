// Keeps the findings of a call and writes them as JSON.
#include "emulator/core/findings.h"

#include <cstdio>
#include <cstring>
#include <vector>

#include "emulator/core/block.h"

namespace opgold::emulator {

namespace {

constexpr size_t kept_at_most = 64;

// A finding with everything copied that may be gone when the call ends.
struct Kept {
  Finding finding;
  std::string kernel, library, argument, dtype, file;
  std::vector<int64_t> shape;
  const char* memory = nullptr;
  Machine machine = Machine::cuda;
  int64_t count = 1;
};
std::vector<Kept> kept;

// The last thing reported, though it may only have been counted.
struct Last {
  const char* kind = nullptr;
  bool with_buffer = false;
  uint64_t launch = 0;
  Index block{}, thread{};
} last;

void append_number(std::string& text, long long value) { text += std::to_string(value); }

void append_index(std::string& text, const Index& index) {
  text += '[' + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ']';
}

void append_text_or_null(std::string& text, const char* value) {
  if (value && *value) append_quoted(text, value);
  else text += "null";
}

void append_place(std::string& text, const Place& place, const std::string& library) {
  if (!place.known) {
    text += "null";
    return;
  }
  text += "{\"access\": ";
  append_text_or_null(text, place.access);
  text += ", \"block\": ";
  append_index(text, place.block);
  text += ", \"thread\": ";
  append_index(text, place.thread);
  text += ", \"library\": ";
  append_text_or_null(text, place.pc ? library.c_str() : nullptr);
  text += ", \"pc\": ";
  append_number(text, static_cast<long long>(place.pc));
  text += '}';
}

void append_finding(std::string& text, const Kept& k) {
  const Finding& f = k.finding;
  text += "{\"kind\": ";
  append_quoted(text, f.kind);
  text += ", \"access\": ";
  append_text_or_null(text, f.access);
  text += ", \"memory\": ";
  append_text_or_null(text, k.memory);
  text += ", \"argument\": ";
  append_text_or_null(text, k.argument.c_str());
  text += ", \"dtype\": ";
  append_text_or_null(text, k.dtype.c_str());
  text += ", \"shape\": ";
  if (f.buffer) {
    text += '[';
    for (size_t i = 0; i < k.shape.size(); ++i) text += (i ? ", " : "") + std::to_string(k.shape[i]);
    text += ']';
  } else {
    text += "null";
  }
  text += ", \"element\": ";
  if (f.buffer) append_number(text, f.element);
  else text += "null";
  text += ", \"size\": ";
  append_number(text, static_cast<long long>(f.size));
  if (k.machine == Machine::xpu) text += ", \"machine\": \"xpu\"";
  text += ", \"kernel\": ";
  append_text_or_null(text, k.kernel.c_str());
  text += ", \"block\": ";
  if (f.at.known) append_index(text, f.at.block);
  else text += "null";
  text += ", \"thread\": ";
  if (f.at.known) append_index(text, f.at.thread);
  else text += "null";
  text += ", \"library\": ";
  append_text_or_null(text, f.pc ? k.library.c_str() : nullptr);
  text += ", \"pc\": ";
  append_number(text, static_cast<long long>(f.pc));
  text += ", \"file\": ";
  append_text_or_null(text, k.file.c_str());
  text += ", \"line\": ";
  if (k.file.empty()) text += "null";
  else append_number(text, f.line);
  text += ", \"other\": ";
  append_place(text, f.other, k.library);
  text += ", \"count\": ";
  append_number(text, k.count);
  text += ", \"detail\": ";
  append_quoted(text, f.detail.c_str());
  text += '}';
}

bool same_index(const Index& a, const Index& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

}  // namespace

volatile bool reporting = false;

const char* access_name(Mode mode) {
  return mode == Mode::read ? "read" : mode == Mode::write ? "write" : "atomic";
}

uintptr_t call_offset(uintptr_t address) {
  if (address <= running.library.base || address > running.library.end) return 0;
  return address - running.library.base - 1;
}

Place here(uintptr_t pc) {
  Place place;
  place.known = running.request != nullptr;
  place.block = current.block_index;
  place.thread = current.thread_index;
  place.pc = pc;
  return place;
}

Place here(Mode mode, uintptr_t pc) {
  Place place = here(pc);
  place.access = access_name(mode);
  return place;
}

Place thread_place(int thread, uintptr_t pc) {
  Place place = here(pc);
  place.thread = index_in(static_cast<uint32_t>(thread), current.block_extent);
  return place;
}

void add(Finding finding) {
  reporting = true;
  last = {finding.kind, finding.buffer != nullptr, running.serial, current.block_index, current.thread_index};
  bool counted = false;
  for (Kept& k : kept) {
    const Finding& f = k.finding;
    if (f.pc == finding.pc && f.buffer == finding.buffer && f.line == finding.line && !strcmp(f.kind, finding.kind) &&
        (f.pc || f.line || f.detail == finding.detail)) {
      ++k.count;
      counted = true;
      break;
    }
  }
  if (!counted && kept.size() < kept_at_most) {
    Kept k;
    if (running.request) {
      k.kernel = running.request->kernel;
      k.machine = running.request->machine;
    }
    k.library = running.library.path;
    if (const Buffer* b = finding.buffer) {
      k.argument = b->name;
      k.dtype = b->dtype;
      k.shape.assign(b->shape, b->shape + b->rank);
      k.memory = b->group ? "group-shared" : b->shared ? "shared" : "global";
    }
    if (finding.file) k.file = finding.file;
    k.finding = std::move(finding);
    kept.push_back(std::move(k));
  }
  reporting = false;
}

bool last_is(const char* kind) {
  return last.kind && !strcmp(last.kind, kind) && last.launch == running.serial &&
         same_index(last.block, current.block_index) && same_index(last.thread, current.thread_index);
}

void forget_index_finding() {
  if (!last_is("bounds") || last.with_buffer || kept.empty()) return;
  const Kept& k = kept.back();
  if (k.count == 1 && !k.finding.buffer && !strcmp(k.finding.kind, "bounds")) kept.pop_back();
}

bool found(const char* kind, const Buffer* buffer) {
  for (const Kept& k : kept)
    if (!strcmp(k.finding.kind, kind) && k.finding.buffer == buffer) return true;
  return false;
}

void clear_findings() {
  kept.clear();
  last = {};
}

std::string findings_json() {
  std::string text = "[";
  for (size_t i = 0; i < kept.size(); ++i) {
    if (i) text += ", ";
    append_finding(text, kept[i]);
  }
  return text + ']';
}

void append_quoted(std::string& text, const char* value) {
  text += '"';
  for (; *value; ++value) {
    const auto c = static_cast<unsigned char>(*value);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += *value;
    } else if (c < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      text += escaped;
    } else {
      text += *value;
    }
  }
  text += '"';
}

}  // namespace opgold::emulator
