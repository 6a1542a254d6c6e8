// What -fsanitize=alignment,signed-integer-overflow,shift,bounds,integer-divide-by-zero calls when something is wrong.
#include <string>

#include "emulator/core/arena.h"
#include "emulator/core/block.h"
#include "emulator/core/findings.h"

namespace {

using namespace opgold::emulator;

// The layouts that the compilers lay down (the same in gcc and clang).
struct SourceLocation {
  const char* file;
  uint32_t line, column;
};
struct TypeDescriptor {
  uint16_t kind, info;
  char name[1];
};
struct OperationData {
  SourceLocation place;
  const TypeDescriptor* type;
};
struct ShiftData {
  SourceLocation place;
  const TypeDescriptor *left, *right;
};
struct BoundsData {
  SourceLocation place;
  const TypeDescriptor *array, *index;
};
struct MismatchData {
  SourceLocation place;
  const TypeDescriptor* type;
  unsigned char log_alignment, check;
};
struct AlignmentData {
  SourceLocation place, assumption;
  const TypeDescriptor* type;
};

// An operand is the value itself where it fits a register, else a pointer to it.
std::string operand(const TypeDescriptor* type, uintptr_t value) {
  if (type->kind != 0) return "?";
  const int bits = 1 << (type->info >> 1);
  const bool is_signed = type->info & 1;
  if (bits > 64) return "a " + std::to_string(bits) + "-bit value";
  if (!is_signed) return std::to_string(static_cast<unsigned long long>(value));
  const int unused = 64 - bits;
  return std::to_string(static_cast<long long>(static_cast<unsigned long long>(value) << unused) >> unused);
}

OPGOLD_COLD void report(const char* kind, const SourceLocation& place, uintptr_t caller, std::string detail) {
  // A unit's host code is instrumented too, and may run on a thread that is not in a call at all.
  if (!call.active || !on_call_thread()) return;
  Finding f{kind};
  f.file = place.file;
  f.line = static_cast<int>(place.line);
  f.pc = call_offset(caller);
  f.at = here(f.pc);
  f.detail = std::move(detail);
  add(std::move(f));
}

void report_operation(const char* sign, const OperationData* data, uintptr_t left, uintptr_t right, uintptr_t caller) {
  report("overflow", data->place, caller,
         operand(data->type, left) + ' ' + sign + ' ' + operand(data->type, right) + " does not fit " +
             data->type->name);
}

}  // namespace

#define OPGOLD_HANDLER(name, parameters) \
  extern "C" __attribute__((visibility("default"))) void __ubsan_handle_##name parameters

OPGOLD_HANDLER(add_overflow, (OperationData * data, uintptr_t left, uintptr_t right)) {
  report_operation("+", data, left, right, OPGOLD_CALLER);
}
OPGOLD_HANDLER(sub_overflow, (OperationData * data, uintptr_t left, uintptr_t right)) {
  report_operation("-", data, left, right, OPGOLD_CALLER);
}
OPGOLD_HANDLER(mul_overflow, (OperationData * data, uintptr_t left, uintptr_t right)) {
  report_operation("*", data, left, right, OPGOLD_CALLER);
}
OPGOLD_HANDLER(negate_overflow, (OperationData * data, uintptr_t value)) {
  report("overflow", data->place, OPGOLD_CALLER,
         "-(" + operand(data->type, value) + ") does not fit " + data->type->name);
}
OPGOLD_HANDLER(divrem_overflow, (OperationData * data, uintptr_t left, uintptr_t right)) {
  const bool by_zero = operand(data->type, right) == "0";
  report(by_zero ? "divide" : "overflow", data->place, OPGOLD_CALLER,
         operand(data->type, left) + (by_zero ? " divided by zero" : " divided by -1 does not fit its type"));
}
OPGOLD_HANDLER(shift_out_of_bounds, (ShiftData * data, uintptr_t left, uintptr_t right)) {
  report("shift", data->place, OPGOLD_CALLER,
         operand(data->left, left) + " shifted by " + operand(data->right, right) + " in " + data->left->name);
}
OPGOLD_HANDLER(out_of_bounds, (BoundsData * data, uintptr_t index)) {
  report("bounds", data->place, OPGOLD_CALLER,
         "index " + operand(data->index, index) + " of an array of type " + data->array->name);
}

namespace {

void report_alignment(const SourceLocation& place, const TypeDescriptor* type, uintptr_t alignment, uintptr_t address,
                      uintptr_t caller) {
  if (!call.active || !on_call_thread()) return;
  const Buffer* buffer = nearest(address);
  Finding f{"alignment"};
  f.file = place.file;
  f.line = static_cast<int>(place.line);
  f.pc = call_offset(caller);
  f.at = here(f.pc);
  if (buffer) {
    f.buffer = buffer;
    f.element = static_cast<int64_t>(address - buffer->data) / static_cast<int64_t>(buffer->item);
  }
  f.detail = std::string("an access as ") + type->name + " needs " + std::to_string(alignment) +
             "-byte alignment; the address stands " + std::to_string(address % alignment) + " past it";
  add(std::move(f));
}

}  // namespace

OPGOLD_HANDLER(type_mismatch_v1, (MismatchData * data, uintptr_t address)) {
  const uintptr_t alignment = uintptr_t{1} << data->log_alignment;
  if (address == 0 || address % alignment == 0) return;  // null is the access check's
  report_alignment(data->place, data->type, alignment, address, OPGOLD_CALLER);
}
OPGOLD_HANDLER(alignment_assumption, (AlignmentData * data, uintptr_t address, uintptr_t alignment, uintptr_t)) {
  report_alignment(data->place, data->type, alignment, address, OPGOLD_CALLER);
}
