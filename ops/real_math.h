#ifndef EK_OPS_REAL_MATH_H_
#define EK_OPS_REAL_MATH_H_

namespace edgekiln::ops {

// Functions of real numbers with the same bits on every machine; libm promises
// none. Made of +, -, *, /, sqrt, floor and powers of two, and of Exp()
// (exp.h). docs/numerics.md gives the steps. Relative errors, for results that
// are normal numbers, stay below 2^-48 where nothing else is said. NaN gives
// NaN.
//
// Thread-safe: pure functions.

double Log(double x);      // NaN below 0, minus infinity at 0.
double Log1p(double x);    // log(1 + x) for x >= 0.
double Expm1(double x);    // e^x - 1
double Tanh(double x);     // Odd; 1 from about 19 on.
double Sigmoid(double x);  // 1 / (1 + e^-x)
double Erf(double x);      // Odd; 1 from 6 on.

// x^y with the special cases of C's pow(). Whole exponents up to 64 multiply
// repeatedly; the others give exp(y * log |x|), whose relative error grows with
// |y log x| to 2^-42.
double Pow(double x, double y);

}  // namespace edgekiln::ops

#endif  // EK_OPS_REAL_MATH_H_
