#ifndef EK_OPS_UNARY_FUNCTION_H_
#define EK_OPS_UNARY_FUNCTION_H_

#include <algorithm>
#include <cmath>

#include "edgekiln/v1/graph.pb.h"
#include "ops/exp.h"
#include "ops/real_math.h"
#include "ops/trigonometry.h"

// The functions of v1::Unary on real numbers, in double.
namespace edgekiln::ops {

// VisitUnary() for what networks use as activation functions.
template <typename Visit>
auto VisitActivation(const v1::Unary& op, const Visit& visit) {
  using U = v1::Unary;
  const double alpha = op.alpha();
  const double beta = op.beta();
  switch (op.function()) {
    case U::ERF:
      return visit([](double x) { return Erf(x); });
    case U::TANH:
      return visit([](double x) { return Tanh(x); });
    case U::SIGMOID:
      return visit([](double x) { return Sigmoid(x); });
    case U::SOFTPLUS:
      return visit([](double x) {
        return std::max(x, 0.0) + Log1p(Exp(-std::fabs(x)));
      });
    case U::SOFTSIGN:
      return visit([](double x) { return x / (1 + std::fabs(x)); });
    case U::ELU:
      return visit([=](double x) { return x > 0 ? x : alpha * Expm1(x); });
    case U::SELU:
      return visit(
          [=](double x) { return beta * (x > 0 ? x : alpha * Expm1(x)); });
    case U::LEAKY_RELU:
      return visit([=](double x) {
        const double below = alpha * x;  // Always, so that loops have no jump.
        return x < 0 ? below : x;
      });
    case U::HARD_SIGMOID:
      return visit([=](double x) {
        return std::max(0.0, std::min(1.0, alpha * x + beta));
      });
    case U::HARD_SWISH:
      return visit([](double x) {
        return x * std::max(0.0, std::min(1.0, x / 6 + 0.5));
      });
    case U::AFFINE:
      return visit([=](double x) { return alpha * x + beta; });
    case U::SCALED_TANH:
      return visit([=](double x) { return alpha * Tanh(beta * x); });
    case U::THRESHOLDED_RELU:
      return visit([=](double x) { return x >= alpha ? x : 0; });
    case U::GELU:
      return visit([](double x) {
        return x / 2 * (1 + Erf(x * 0x1.6a09e667f3bcdp-1));  // sqrt(1/2)
      });
    case U::GELU_TANH:
      return visit([](double x) {
        constexpr double kSqrt2ByPi = 0x1.9884533d43651p-1;
        return x / 2 * (1 + Tanh(kSqrt2ByPi * (x + 0.044715 * (x * x * x))));
      });
    case U::CELU:
      return visit(
          [=](double x) { return x > 0 ? x : alpha * Expm1(x / alpha); });
    case U::SHRINK:
      return visit([=](double x) {
        return x < -alpha ? x + beta : x > alpha ? x - beta : 0;
      });
    default:
      return visit([](double x) { return x; });
  }
}

// VisitUnary() for circular and hyperbolic functions.
template <typename Visit>
auto VisitTrigonometric(const v1::Unary& op, const Visit& visit) {
  using U = v1::Unary;
  switch (op.function()) {
    case U::SIN:
      return visit([](double x) { return Sin(x); });
    case U::COS:
      return visit([](double x) { return Cos(x); });
    case U::TAN:
      return visit([](double x) { return Tan(x); });
    case U::ASIN:
      return visit([](double x) { return Asin(x); });
    case U::ACOS:
      return visit([](double x) { return Acos(x); });
    case U::ATAN:
      return visit([](double x) { return Atan(x); });
    case U::SINH:
      return visit([](double x) { return Sinh(x); });
    case U::COSH:
      return visit([](double x) { return Cosh(x); });
    case U::ASINH:
      return visit([](double x) { return Asinh(x); });
    case U::ACOSH:
      return visit([](double x) { return Acosh(x); });
    case U::ATANH:
      return visit([](double x) { return Atanh(x); });
    default:
      return VisitActivation(op, visit);
  }
}

// Calls visit(f) with the function of `op` as an object double(double), so that
// loops over it are compiled for each function.
template <typename Visit>
auto VisitUnary(const v1::Unary& op, const Visit& visit) {
  using U = v1::Unary;
  switch (op.function()) {
    case U::ABS:
      return visit([](double x) { return std::fabs(x); });
    case U::NEG:
      return visit([](double x) { return -x; });
    case U::SIGN:
      return visit([](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; });
    case U::FLOOR:
      return visit([](double x) { return std::floor(x); });
    case U::CEIL:
      return visit([](double x) { return std::ceil(x); });
    case U::ROUND:
      return visit([](double x) { return std::nearbyint(x); });
    case U::SQUARE:
      return visit([](double x) { return x * x; });
    case U::SQRT:
      return visit([](double x) { return std::sqrt(x); });
    case U::RSQRT:
      return visit([](double x) { return 1 / std::sqrt(x); });
    case U::RECIPROCAL:
      return visit([](double x) { return 1 / x; });
    case U::EXP:
      return visit([](double x) { return Exp(x); });
    case U::LOG:
      return visit([](double x) { return Log(x); });
    default:
      return VisitTrigonometric(op, visit);
  }
}

// One value.
inline double UnaryOf(const v1::Unary& op, double x) {
  return VisitUnary(op, [x](const auto& f) -> double { return f(x); });
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_UNARY_FUNCTION_H_
