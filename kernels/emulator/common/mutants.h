// What mutated device code calls (kernels/mutants/): every operator with its faulty variants, of which one may be on.
//
// A site is one changed place; its mutants have consecutive numbers, and `first` is the lowest. Operands are values and
// evaluated once. While nothing is selected a site records which of its mutants would have given another value, until
// all of them have.
#pragma once

#include <type_traits>

#include "mutants_sites.h"  // generated: `count`, and `site_of[number]`, the first number of its site

#define OPGOLD_UNSEEN __attribute__((no_sanitize("thread", "undefined")))
#define OPGOLD_COLD __attribute__((noinline, cold, no_sanitize("thread", "undefined")))
#define OPGOLD_WITHIN inline __attribute__((always_inline))

#pragma GCC visibility push(hidden)

namespace opgold::mutants {

inline int selected = 0;
inline unsigned char active[count + 1];  // of a site: whether it must stop and look
inline unsigned char reached[count + 1];
inline unsigned char infected[count + 1];

#ifdef OPGOLD_CHECKED
inline OPGOLD_COLD bool is_active(int first) { return active[first]; }
#else
OPGOLD_WITHIN bool is_active(int first) { return __builtin_expect(active[first], 0); }
#endif

// A value, and whether it stands in the place of the original.
template <class T>
struct Choice {
  T value;
  bool taken;
};

template <class T>
OPGOLD_UNSEEN bool same(const T& a, const T& b) {
  return __builtin_memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T, int number>
OPGOLD_COLD Choice<T> choose(int first, const T& original, const T (&others)[number]) {
  if (selected != 0) {
    const int which = selected - first;
    return which >= 0 && which < number ? Choice<T>{others[which], true} : Choice<T>{original, false};
  }
  bool done = true;
  for (int i = 0; i < number; ++i) {
    reached[first + i] = 1;
    if (!infected[first + i]) infected[first + i] = !same(original, others[i]);
    done = done && infected[first + i];
  }
  active[first] = !done;
  return {original, false};
}

// --- values ---

template <class T, class... Others>
OPGOLD_COLD Choice<T> choose_value(int first, T original, Others... others) {
  const T all[] = {others...};
  return choose(first, original, all);
}

// `original`, or one of the others.
template <class T, class... Others>
OPGOLD_WITHIN T value(int first, T original, Others... others) {
  if (is_active(first)) {
    const auto choice = choose_value<T>(first, original, static_cast<T>(others)...);
    if (choice.taken) return choice.value;
  }
  return original;
}

// A condition that holds as it should, always, or never.
OPGOLD_WITHIN bool guard(int first, bool condition) { return value(first, condition, true, false); }

OPGOLD_WITHIN bool negated(int first, bool condition) { return value(first, condition, !condition); }

// An index, or the next one.
template <class T>
OPGOLD_COLD Choice<T> choose_index(int first, T index) {
  const T all[] = {static_cast<T>(index + 1)};
  return choose(first, index, all);
}
template <class T>
OPGOLD_WITHIN T index(int first, T index) {
  if (is_active(first)) {
    const auto choice = choose_index<T>(first, index);
    if (choice.taken) return choice.value;
  }
  return index;
}

// A 64-bit value cut to 32 bits. Any other is left alone.
template <class T>
OPGOLD_WITHIN T cut(int first, T original) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    if constexpr (std::is_signed_v<T>) return value(first, original, static_cast<int>(original));
    else return value(first, original, static_cast<unsigned>(original));
  }
  return original;
}

// In braces: a constant that may be narrowed as a constant expression may be.
template <class T>
struct Braced {
  T value;
  template <class To>
  OPGOLD_WITHIN operator To() const {
    return static_cast<To>(value);
  }
};
template <class T>
OPGOLD_WITHIN Braced<T> braced(T value) {
  return {value};
}

// The greater or lesser of two, or one of them whatever the other is.
template <class Function, class A, class B>
OPGOLD_WITHIN auto extreme(int first, Function function, A a, B b) {
  return value(first, function(a, b), a, b);
}

// --- operators ---

#define OPGOLD_OPERATOR(name, expression)            \
  struct name {                                      \
    template <class A, class B>                      \
    static OPGOLD_WITHIN auto of(A a, B b) {         \
      return expression;                             \
    }                                                \
    template <class A, class B>                      \
    static OPGOLD_UNSEEN auto unseen(A a, B b) {     \
      return expression;                             \
    }                                                \
  };
OPGOLD_OPERATOR(Less, a < b)
OPGOLD_OPERATOR(LessEqual, a <= b)
OPGOLD_OPERATOR(Greater, a > b)
OPGOLD_OPERATOR(GreaterEqual, a >= b)
OPGOLD_OPERATOR(Equal, a == b)
OPGOLD_OPERATOR(Unequal, a != b)
OPGOLD_OPERATOR(True, ((void)a, (void)b, true))
OPGOLD_OPERATOR(False, ((void)a, (void)b, false))
OPGOLD_OPERATOR(LessByOne, a + 1 < b)
OPGOLD_OPERATOR(LessEqualByOne, a - 1 <= b)
OPGOLD_OPERATOR(GreaterByOne, a - 1 > b)
OPGOLD_OPERATOR(GreaterEqualByOne, a + 1 >= b)
OPGOLD_OPERATOR(Add, a + b)
OPGOLD_OPERATOR(Subtract, a - b)
OPGOLD_OPERATOR(Multiply, a * b)
OPGOLD_OPERATOR(Divide, a / b)
OPGOLD_OPERATOR(Remainder, a % b)
OPGOLD_OPERATOR(And, a & b)
OPGOLD_OPERATOR(Or, a | b)
OPGOLD_OPERATOR(Xor, a ^ b)
OPGOLD_OPERATOR(ShiftLeft, a << b)
OPGOLD_OPERATOR(ShiftRight, a >> b)
OPGOLD_OPERATOR(Left, ((void)b, a))
OPGOLD_OPERATOR(Right, ((void)a, b))
#undef OPGOLD_OPERATOR

template <class Original, class... Others, class A, class B>
OPGOLD_COLD auto choose_operator(int first, A a, B b) {
  using T = decltype(Original::unseen(a, b));
  const T all[] = {static_cast<T>(Others::unseen(a, b))...};
  return choose<T>(first, Original::unseen(a, b), all);
}

template <class Original, class... Others, class A, class B>
OPGOLD_WITHIN auto binary(int first, A a, B b) {
  if (is_active(first)) {
    const auto choice = choose_operator<Original, Others...>(first, a, b);
    if (choice.taken) return choice.value;
  }
  return Original::of(a, b);
}

// --- code that may be left out ---

inline OPGOLD_COLD bool choose_kept(int first) {
  if (selected != 0) return selected != first;
  reached[first] = infected[first] = 1;
  active[first] = 0;
  return true;
}
// Whether a statement is executed.
OPGOLD_WITHIN bool keeps(int first) { return !is_active(first) || choose_kept(first); }

inline OPGOLD_COLD bool choose_left_out(int first) { return selected == first; }
// Whether one side of `&&` or `||` is left out; `side` records what it was worth.
OPGOLD_WITHIN bool leaves_out(int first) { return is_active(first) && choose_left_out(first); }
OPGOLD_WITHIN bool side(int first, bool original, bool other) {
  if (is_active(first)) choose_value<bool>(first, original, other);
  return original;
}

template <class T>
OPGOLD_COLD bool choose_swapped(int first, T a, T b) {
  if (selected != 0) return selected == first;
  bool differs = true;
  if constexpr (std::is_trivially_copyable_v<T>) differs = !same(a, b);
  reached[first] = 1;
  if (differs) infected[first] = 1;
  active[first] = !differs;
  return false;
}
// Whether two arguments change places.
template <class T>
OPGOLD_WITHIN bool swaps(int first, T a, T b) {
  return is_active(first) && choose_swapped<T>(first, a, b);
}
OPGOLD_WITHIN bool swapped(int first) { return is_active(first) && choose_left_out(first); }

// Forgets what was recorded, and records again while nothing is selected.
inline OPGOLD_COLD void clear() {
  for (int number = 0; number <= count; ++number) {
    reached[number] = infected[number] = 0;
    active[number] = selected == 0;
  }
}
inline OPGOLD_COLD void select(int number) {
  selected = number;
  for (int other = 0; other <= count; ++other) active[other] = number == 0;
  active[site_of[number]] = 1;
}

}  // namespace opgold::mutants

#pragma GCC visibility pop

// --- what kernels/mutants/switch.py calls ---

extern "C" {
__attribute__((visibility("default"), weak, used)) int opgold_mutants_count() { return opgold::mutants::count; }
__attribute__((visibility("default"), weak, used)) void opgold_mutants_select(int number) { opgold::mutants::select(number); }
__attribute__((visibility("default"), weak, used)) void opgold_mutants_clear() { opgold::mutants::clear(); }
__attribute__((visibility("default"), weak, used)) unsigned char* opgold_mutants_reached() { return opgold::mutants::reached; }
__attribute__((visibility("default"), weak, used)) unsigned char* opgold_mutants_infected() { return opgold::mutants::infected; }
}

namespace opgold_m = ::opgold::mutants;

#undef OPGOLD_UNSEEN
#undef OPGOLD_COLD
#undef OPGOLD_WITHIN
