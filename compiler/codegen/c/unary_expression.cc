#include "compiler/codegen/c/unary_expression.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/codegen/c/c_text.h"

namespace edgekiln::compiler {
namespace {

using U = v1::Unary;

// With x, A (alpha) and B (beta) to be replaced as @x, @A, @B.
const char* TemplateOf(U::Function function) {
  switch (function) {
    case U::ABS:
      return "$fabs(@x)";
    case U::NEG:
      return "-@x";
    case U::SIGN:
      return "@x > 0 ? 1.0 : @x < 0 ? -1.0 : @x";
    case U::FLOOR:
      return "$floor(@x)";
    case U::CEIL:
      return "$ceil(@x)";
    case U::ROUND:
      return "$nearbyint(@x)";
    case U::SQUARE:
      return "@x * @x";
    case U::SQRT:
      return "$sqrt(@x)";
    case U::RSQRT:
      return "1 / $sqrt(@x)";
    case U::RECIPROCAL:
      return "1 / @x";
    case U::EXP:
      return "$exp(@x)";
    case U::LOG:
      return "$log(@x)";
    case U::ERF:
      return "$erf(@x)";
    case U::TANH:
      return "$tanh(@x)";
    case U::SIGMOID:
      return "$sigmoid(@x)";
    case U::SOFTPLUS:
      return "(@x < 0 ? 0.0 : @x) + $log1p($exp(-$fabs(@x)))";
    case U::SOFTSIGN:
      return "@x / (1 + $fabs(@x))";
    case U::ELU:
      return "@x > 0 ? @x : @A * $expm1(@x)";
    case U::SELU:
      return "@B * (@x > 0 ? @x : @A * $expm1(@x))";
    case U::LEAKY_RELU:
      return "@x < 0 ? @A * @x : @x";
    case U::HARD_SIGMOID:
      return "$unit(@A * @x + @B)";
    case U::HARD_SWISH:
      return "@x * $unit(@x / 6 + 0.5)";
    case U::AFFINE:
      return "@A * @x + @B";
    case U::SCALED_TANH:
      return "@A * $tanh(@B * @x)";
    case U::THRESHOLDED_RELU:
      return "@x >= @A ? @x : 0";
    case U::GELU:
      return "@x / 2 * (1 + $erf(@x * 0x1.6a09e667f3bcdp-1))";
    case U::GELU_TANH:
      return "@x / 2 * (1 + $tanh(0x1.9884533d43651p-1 * (@x + 0.044715 * (@x "
             "* @x * @x))))";
    case U::CELU:
      return "@x > 0 ? @x : @A * $expm1(@x / @A)";
    case U::SHRINK:
      return "@x < -(@A) ? @x + @B : @x > @A ? @x - @B : 0";
    case U::SIN:
      return "$sin(@x)";
    case U::COS:
      return "$cos(@x)";
    case U::TAN:
      return "$tan(@x)";
    case U::ASIN:
      return "$asin(@x)";
    case U::ACOS:
      return "$acos(@x)";
    case U::ATAN:
      return "$atan(@x)";
    case U::SINH:
      return "$sinh(@x)";
    case U::COSH:
      return "$cosh(@x)";
    case U::ASINH:
      return "$asinh(@x)";
    case U::ACOSH:
      return "$acosh(@x)";
    case U::ATANH:
      return "$atanh(@x)";
    default:
      return "@x";
  }
}

}  // namespace

std::string UnaryExpression(StepWriter& w, const v1::Unary& op,
                            const std::string& x) {
  return w.With(absl::StrReplaceAll(
      TemplateOf(op.function()),
      {{"@x", x},
       {"@A", absl::StrCat("(", CDouble(double{op.alpha()}), ")")},
       {"@B", absl::StrCat("(", CDouble(double{op.beta()}), ")")}}));
}

}  // namespace edgekiln::compiler
