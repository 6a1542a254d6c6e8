// Writes JSON text: commas are put where they belong.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace opgold::json {

class Writer {
 public:
  Writer& open(char bracket) { return separate().raw(bracket, true); }
  Writer& close(char bracket) { return raw(bracket, false); }
  Writer& key(const char* name) {
    separate().quote(name);
    text_ += ": ";
    first_ = true;
    return *this;
  }
  Writer& value(const char* text) {
    separate();
    if (!text) text_ += "null";
    else quote(text);
    return *this;
  }
  Writer& value(const std::string& text) { return value(text.c_str()); }
  Writer& value(bool truth) { return literal(truth ? "true" : "false"); }
  Writer& value(int64_t integer) { return literal(std::to_string(integer).c_str()); }
  Writer& value(uint64_t integer) { return literal(std::to_string(integer).c_str()); }
  Writer& value(double real) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", real);
    return literal(digits);
  }
  Writer& null() { return literal("null"); }
  template <class Value>
  Writer& field(const char* name, const Value& given) {
    return key(name).value(given);
  }

  const std::string& text() const { return text_; }

 private:
  Writer& separate() {
    if (!first_) text_ += ", ";
    first_ = false;
    return *this;
  }
  Writer& raw(char bracket, bool opens) {
    text_ += bracket;
    first_ = opens;
    return *this;
  }
  Writer& literal(const char* text) {
    separate().text_ += text;
    return *this;
  }
  Writer& quote(const char* text) {
    text_ += '"';
    for (; *text; ++text) {
      const auto code = static_cast<unsigned char>(*text);
      char escaped[8];
      if (code == '"' || code == '\\') (text_ += '\\') += *text;
      else if (code < 0x20) text_.append(escaped, std::snprintf(escaped, sizeof escaped, "\\u%04x", code));
      else text_ += *text;
    }
    text_ += '"';
    return *this;
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace opgold::json
