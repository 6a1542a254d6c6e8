// The annotations that each thread is under, and the stores whose values are to be compared.
#include "emulator/core/excuses.h"

#include <algorithm>
#include <cstring>

#include "emulator/core/block.h"

namespace opgold::emulator {

namespace excuses {

bool waiting = false;

namespace {

struct Store {
  uintptr_t address;
  std::string before;
  Finding finding;
  ExcuseSite* site;
};

std::vector<ExcuseSite*> sites;  // that this call has met
std::vector<ExcuseSite*> open[max_threads];
std::vector<Store> stores;

uint16_t bit_of(Excuse kind) { return kind == Excuse::same_value ? same_value_bit : ordered_bit; }

// The innermost annotation of a kind that the running thread is under.
ExcuseSite* innermost(Excuse kind) {
  const auto& own = open[current.thread];
  for (size_t i = own.size(); i-- > 0;)
    if (own[i]->kind == kind) return own[i];
  return nullptr;
}

void retag() {
  uint16_t bits = 0;
  for (const ExcuseSite* site : open[current.thread]) bits |= bit_of(site->kind);
  current.tag = static_cast<uint16_t>(current.thread | bits);
  threads[current.thread].tag = current.tag;
}

}  // namespace

void begin_call() {
  for (ExcuseSite* site : sites) site->listed = false;
  sites.clear();
  stores.clear();
  waiting = false;
}

bool ordered(const Access& earlier) {
  if (current.tag & ordered_bit) {
    ++innermost(Excuse::ordered)->count;
    return true;
  }
  if (!(earlier.thread & ordered_bit)) return false;
  for (ExcuseSite* site : sites)  // which of them it was is not kept
    if (site->kind == Excuse::ordered) ++site->count;
  return true;
}

bool same_value(const Access& earlier, const Buffer& buffer, size_t granule, size_t offset, size_t size,
                const Finding& finding) {
  if (!(current.tag & earlier.thread & same_value_bit)) return false;
  const size_t low = std::max(granule << buffer.granule_bits, offset);
  const size_t high = std::min((granule + 1) << buffer.granule_bits, offset + size);
  const uintptr_t address = buffer.data + low;
  std::string before(reinterpret_cast<const char*>(address), high - low);
  stores.push_back({address, std::move(before), finding, innermost(Excuse::same_value)});
  waiting = true;
  return true;
}

void settle() {
  waiting = false;
  for (Store& store : stores) {
    if (memcmp(reinterpret_cast<const void*>(store.address), store.before.data(), store.before.size()) == 0) {
      ++store.site->count;
      continue;
    }
    store.finding.detail += ", of different values";
    add(std::move(store.finding));
  }
  stores.clear();
}

std::string sites_json() {
  std::string text = "[";
  for (const ExcuseSite* site : sites) {
    text += text.size() > 1 ? ", {\"kind\": " : "{\"kind\": ";
    append_quoted(text, site->kind == Excuse::same_value ? "same-value" : "ordered");
    text += ", \"reason\": ";
    append_quoted(text, site->reason);
    text += ", \"file\": ";
    append_quoted(text, site->file);
    text += ", \"line\": " + std::to_string(site->line) + ", \"count\": " + std::to_string(site->count) + '}';
  }
  return text + ']';
}

}  // namespace excuses

void open_excuse(ExcuseSite* site) {
  if (!running.request) return;
  using namespace excuses;
  auto& own = open[current.thread];
  if (current.tag == current.thread) own.clear();  // of a thread before it that did not come to its end
  if (!site->listed) {
    site->listed = true;
    site->count = 0;
    sites.push_back(site);
  }
  own.push_back(site);
  retag();
}

void close_excuse() {
  if (!running.request) return;
  using namespace excuses;
  if (waiting) settle();
  auto& own = open[current.thread];
  if (!own.empty()) own.pop_back();
  retag();
}

}  // namespace opgold::emulator
