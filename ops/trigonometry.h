#ifndef EK_OPS_TRIGONOMETRY_H_
#define EK_OPS_TRIGONOMETRY_H_

namespace edgekiln::ops {

// Circular and hyperbolic functions and their inverses, with the same bits on
// every machine, as real_math.h has the others. docs/numerics.md gives the
// steps. Relative errors stay below 2^-48 for results that are normal numbers,
// arguments of any size included. NaN and arguments outside the domain give
// NaN.
//
// Thread-safe: pure functions.

double Sin(double x);  // NaN for infinities, as are Cos and Tan.
double Cos(double x);
double Tan(double x);
double Asin(double x);
double Acos(double x);
double Atan(double x);

double Sinh(double x);
double Cosh(double x);
double Asinh(double x);
double Acosh(double x);
double Atanh(double x);

}  // namespace edgekiln::ops

#endif  // EK_OPS_TRIGONOMETRY_H_
