#include "compiler/partition/factors_match.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "target/pattern_ops.h"

namespace edgekiln::compiler {
namespace {

using Kind = v1::OpAttributes::OpCase;

// The factors of requantization: of sums, or of each operand of an addition.
// Products of two floats are exact, and their quotient is a power of two only
// if it is exact.
std::vector<double> FactorsOf(const Graph& graph, const Op& op) {
  const Kind kind = op.attributes.op_case();
  std::vector<double> factors;
  if (kind == Kind::kRequantize) {
    const v1::Requantize& requantize = op.attributes.requantize();
    for (int i = 0; i < requantize.multiplier_size(); ++i) {
      factors.push_back(
          std::ldexp(requantize.multiplier(i), requantize.shift(i) - 31));
    }
    return factors;
  }
  const auto input = [&](size_t i) -> const Quantization& {
    return *graph.tensors[op.inputs[i]].quantization;
  };
  const double out = graph.tensors[op.outputs[0]].quantization->scale[0];
  const double in = input(0).scale[0];
  if (target::HasWeights(kind)) {
    for (const double weight : input(1).scale) {
      factors.push_back(in * weight / out);
    }
  } else if (kind == Kind::kMul) {
    factors = {in * input(1).scale[0] / out};
  } else {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == kNoTensor) continue;
      factors.push_back(input(i).scale[0] / out);
    }
  }
  return factors;
}

std::string WhyNotOneInputScale(const Quantization& a, const Quantization& b) {
  if (a.scale != b.scale) {
    return absl::StrCat(
        "one scale for both operands (here ",
        absl::StrFormat("%.6g and %.6g)", a.scale[0], b.scale[0]));
  }
  if (a.zero_point == b.zero_point) return "";
  return absl::StrCat("one zero point for both operands (here ",
                      a.zero_point[0], " and ", b.zero_point[0], ")");
}

std::string WhyNotShift(double factor, int32_t most) {
  int exponent = 0;
  if (std::frexp(factor, &exponent) != 0.5) {
    return absl::StrCat("scales whose ratio is a power of two (here ",
                        absl::StrFormat("%.6g", factor), ")");
  }
  const int shift = 1 - exponent;
  if (most == 0 || (shift >= 0 && shift <= most)) return "";
  return absl::StrCat("shifts right by 0 to ", most, " bits (here by ", shift,
                      ")");
}

}  // namespace

std::string WhyNotFactors(const Graph& graph, const Op& op,
                          const v1::Numerics& numerics) {
  if (numerics.one_input_scale() && op.attributes.has_add()) {
    std::string why =
        WhyNotOneInputScale(*graph.tensors[op.inputs[0]].quantization,
                            *graph.tensors[op.inputs[1]].quantization);
    if (!why.empty()) return why;
  }
  if (numerics.requantization() != v1::Numerics::SHIFT ||
      op.attributes.has_converter()) {
    return "";
  }
  for (const double factor : FactorsOf(graph, op)) {
    std::string why = WhyNotShift(factor, numerics.largest_shift());
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace edgekiln::compiler
