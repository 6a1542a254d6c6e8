// Small functions of the vendor's headers, with their types.
#pragma once

#include "emulator/xpu/language.h"

template <class T>
inline T min(T a, T b) { return b < a ? b : a; }
template <class T>
inline T max(T a, T b) { return a < b ? b : a; }
// Mixed types do not deduce the templates: they come here, and are cut to 32 bits.
inline int min(int a, int b) { return b < a ? b : a; }
inline int max(int a, int b) { return a < b ? b : a; }

template <class T>
inline T roundup_div(T a, T b) { return (a + b - 1) / b; }
template <class T>
inline T roundup(T a, T b) { return roundup_div(a, b) * b; }
template <class T>
inline T rounddown(T a, T b) { return a / b * b; }

inline float exp(float a) { return ::expf(a); }
inline float log(float a) { return ::logf(a); }
inline float sqrt(float a) { return ::sqrtf(a); }
inline float fabs(float a) { return ::fabsf(a); }
inline float rint(float a) { return ::rintf(a); }
inline float fmin(float a, float b) { return ::fminf(a, b); }
inline float fmax(float a, float b) { return ::fmaxf(a, b); }
