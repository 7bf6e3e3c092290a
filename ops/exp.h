#ifndef EK_OPS_EXP_H_
#define EK_OPS_EXP_H_

namespace edgekiln::ops {

// e^x with the same bits on every machine; libm promises none. Uses only
// addition, multiplication, floor and powers of two. Relative error below
// 2^-51 for results that are normal numbers; 0 below x = -745.2, infinity above
// 709.79; NaN for NaN. docs/numerics.md gives the steps.
double Exp(double x);

}  // namespace edgekiln::ops

#endif  // EK_OPS_EXP_H_
