#include "compiler/partition/numerics_match.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/partition/factors_match.h"
#include "compiler/passes/clamps.h"
#include "ops/leaky_relu.h"
#include "ops/quantized_parameters.h"
#include "target/pattern_ops.h"

namespace edgekiln::compiler {
namespace {

using Kind = v1::OpAttributes::OpCase;

std::string TypeName(v1::ElementType type) {
  return absl::AsciiStrToLower(v1::ElementType_Name(type));
}

template <typename Types>
std::string TypeNames(const Types& types) {
  std::vector<std::string> names;
  for (const int type : types) {
    names.push_back(TypeName(static_cast<v1::ElementType>(type)));
  }
  return absl::StrJoin(names, " or ");
}

std::string RoundingName(int rounding) {
  switch (rounding) {
    case v1::HALF_EVEN:
      return "half to even";
    case v1::FLOOR:
      return "down";
    default:
      return "half up";
  }
}

template <typename Roundings>
std::string RoundingNames(const Roundings& roundings) {
  std::vector<std::string> names;
  for (const int rounding : roundings) names.push_back(RoundingName(rounding));
  return absl::StrJoin(names, " or ");
}

// Of weights, inclusive.
ops::QuantizedRange RangeOf(v1::WeightValues values, v1::ElementType type) {
  switch (values) {
    case v1::WEIGHTS_INT4:
      return {-8, 7};
    case v1::WEIGHTS_TERNARY:
      return {-1, 1};
    default:
      return ops::RangeOf(type);
  }
}

// The largest size of int8 values outside of `range`; 0 if all are inside.
int32_t LargestOutside(absl::string_view data, ops::QuantizedRange range) {
  int32_t largest = 0;
  for (const char byte : data) {
    const auto value = static_cast<int8_t>(byte);
    if (value >= range.min && value <= range.max) continue;
    largest = std::max(largest, std::abs(int32_t{value}));
  }
  return largest;
}

// Checks one op against the numerics of a pattern.
class NumericsMatch {
 public:
  NumericsMatch(const Graph& graph, const Op& op, const v1::Numerics& numerics,
                const ValueRanges& ranges)
      : graph_(graph),
        op_(op),
        numerics_(numerics),
        ranges_(ranges),
        kind_(op.attributes.op_case()),
        weighted_(target::HasWeights(kind_)) {}

  std::string WhyNot() const {
    using Check = std::string (NumericsMatch::*)() const;
    for (const Check check :
         {&NumericsMatch::WhyNotRounding, &NumericsMatch::WhyNotInputs,
          &NumericsMatch::WhyNotOutput, &NumericsMatch::WhyNotWeights,
          &NumericsMatch::WhyNotValues, &NumericsMatch::WhyNotScales,
          &NumericsMatch::WhyNotConverter, &NumericsMatch::WhyNotClamp,
          &NumericsMatch::WhyNotSums}) {
      if (std::string why = (this->*check)(); !why.empty()) return why;
    }
    return "";
  }

 private:
  const Tensor& input(size_t i) const { return graph_.tensors[op_.inputs[i]]; }
  const Tensor& output() const { return graph_.tensors[op_.outputs[0]]; }
  bool gives_sums() const {
    return numerics_.requantization() == v1::Numerics::NOT_REQUANTIZED;
  }

  std::string WhyNotRounding() const {
    const v1::Rounding rounding = op_.attributes.rounding();
    if (gives_sums() ||
        absl::c_linear_search(numerics_.roundings(), rounding)) {
      return "";
    }
    return absl::StrCat("rounding ", RoundingNames(numerics_.roundings()),
                        " (here ", RoundingName(rounding), ")");
  }

  std::string WhyNotInputs() const {
    for (size_t i = 0; i < (weighted_ ? 1 : op_.inputs.size()); ++i) {
      if (op_.inputs[i] == kNoTensor) continue;
      if (input(i).is_constant()) {
        return absl::StrCat("operands that are activations (",
                            ShortName(input(i)), " is constant)");
      }
      // Sums are int32 whatever the type of activations.
      if (kind_ == Kind::kRequantize) continue;
      if (std::string why = WhyNotActivation(input(i)); !why.empty()) {
        return why;
      }
    }
    return "";
  }

  std::string WhyNotOutput() const {
    if (!gives_sums()) return WhyNotActivation(output());
    return WhyEmpty(output());
  }

  std::string WhyNotActivation(const Tensor& tensor) const {
    if (!absl::c_linear_search(numerics_.activations(), tensor.type)) {
      return absl::StrCat(TypeNames(numerics_.activations()), " tensors (",
                          ShortName(tensor), " is ", TypeName(tensor.type),
                          ")");
    }
    if (!tensor.quantization || tensor.quantization->per_channel()) {
      return absl::StrCat("tensors quantized with one scale (",
                          ShortName(tensor), " is not)");
    }
    const int32_t zero = tensor.quantization->zero_point[0];
    if (zero != 0 && !numerics_.activation_zero_points()) {
      return absl::StrCat("tensors with zero point 0 (", ShortName(tensor),
                          " has ", zero, ")");
    }
    return WhyEmpty(tensor);
  }

  static std::string WhyEmpty(const Tensor& tensor) {
    if (tensor.num_elements() > 0) return "";
    return absl::StrCat("tensors that are not empty (", ShortName(tensor),
                        " is)");
  }

  std::string WhyNotWeights() const {
    if (!weighted_) return "";
    const Tensor& weights = input(1);
    if (!weights.is_constant()) return "constant weights";
    if (!weights.quantization) return "quantized weights";
    if (!absl::c_linear_search(numerics_.weights(), weights.type)) {
      return absl::StrCat(TypeNames(numerics_.weights()), " weights (here ",
                          TypeName(weights.type), ")");
    }
    if (op_.inputs.size() > 2 && op_.inputs[2] != kNoTensor &&
        !input(2).is_constant()) {
      return "a constant bias";
    }
    if (weights.quantization->per_channel() && !numerics_.per_channel()) {
      return "weights with one scale (here one per channel)";
    }
    if (!numerics_.weight_zero_points() &&
        absl::c_any_of(weights.quantization->zero_point,
                       [](int32_t zero) { return zero != 0; })) {
      return "symmetric weights";
    }
    return "";
  }

  // Of an outline (compiler/ir/graph_outline.h) all values are 0.
  std::string WhyNotValues() const {
    if (!weighted_ || numerics_.weight_values() == v1::WEIGHTS_ANY) return "";
    // They are int8 then (target/validate_pattern.cc).
    const int32_t largest = LargestOutside(
        *input(1).data, RangeOf(numerics_.weight_values(), input(1).type));
    if (largest == 0) return "";
    return absl::StrCat(numerics_.weight_values() == v1::WEIGHTS_TERNARY
                            ? "weights of -1, 0 and 1"
                            : "weights from -8 to 7",
                        " (here up to ", largest, ")");
  }

  std::string WhyNotConverter() const {
    const bool wants = numerics_.requantization() == v1::Numerics::ADC;
    // Sums are converted elsewhere.
    if (gives_sums() || wants == op_.attributes.has_converter()) {
      return wants ? WhyNotNumbers() : "";
    }
    return wants ? "a converter for its results (here factors)"
                 : "factors for its results (here a converter)";
  }

  std::string WhyNotNumbers() const {
    const v1::Converter& converter = op_.attributes.converter();
    const v1::Numerics::Converter& engine = numerics_.converter();
    if (converter.min() != engine.min() || converter.max() != engine.max()) {
      return absl::StrCat("codes from ", engine.min(), " to ", engine.max(),
                          " (here ", converter.min(), " to ", converter.max(),
                          ")");
    }
    if (converter.gain() > engine.max_gain()) {
      return absl::StrCat("gains up to ", engine.max_gain(), " (here ",
                          converter.gain(), ")");
    }
    if (converter.shift() > engine.max_shift()) {
      return absl::StrCat("shifts up to ", engine.max_shift(),
                          " behind the converter (here ", converter.shift(),
                          ")");
    }
    return "";
  }

  std::string WhyNotClamp() const {
    const v1::Clamp* clamp = ClampOf(op_.attributes);
    if (!numerics_.plain_clamps() || gives_sums() || clamp == nullptr)
      return "";
    const ops::QuantizedRange all = ops::RangeOf(output().type);
    const ops::QuantizedRange range =
        ops::ClampRange(*clamp, op_.attributes.rounding(),
                        QuantizationOf(output()), output().type);
    const int32_t zero = output().quantization->zero_point[0];
    if (range.max != all.max) {
      return absl::StrCat("results up to ", all.max, " (here ", range.max, ")");
    }
    if (range.min == all.min || range.min == zero) return "";
    return absl::StrCat("results from ", all.min, " or ", zero, " up (here ",
                        range.min, ")");
  }

  std::string WhyNotScales() const {
    if (target::KeepsQuantization(kind_)) {
      if (input(0).quantization == output().quantization) return "";
      return "pools that keep the quantization of their input";
    }
    if (target::MayKeepQuantization(kind_) &&
        numerics_.requantization() ==
            v1::Numerics::REQUANTIZATION_UNSPECIFIED) {
      return WhyNotOneQuantization();
    }
    return WhyNotFactors(graph_, op_, numerics_);
  }

  std::string WhyNotOneQuantization() const {
    for (const TensorId id : op_.inputs) {
      const Tensor& operand = graph_.tensors[id];
      if (operand.quantization == output().quantization) continue;
      return absl::StrCat("one quantization for operands and result (",
                          ShortName(operand), " and ", ShortName(output()),
                          " differ)");
    }
    // Half to even is by floats (docs/numerics.md, 3.19): of all values.
    const float scale = output().quantization->scale[0];
    if (op_.attributes.rounding() == v1::HALF_EVEN &&
        !std::isfinite(scale * static_cast<float>(Largest(output())))) {
      return absl::StrCat("finite values (", ShortName(output()), " has scale ",
                          absl::StrFormat("%.6g", scale), ")");
    }
    return WhyNotSlope();
  }

  // The engine multiplies by it once.
  std::string WhyNotSlope() const {
    const v1::Unary& unary = op_.attributes.unary();
    if (unary.function() != v1::Unary::LEAKY_RELU ||
        ops::LeakyReluMultiplier(unary, op_.attributes.rounding(),
                                 QuantizationOf(output()), output().type)) {
      return "";
    }
    if (output().type != v1::INT8 && output().type != v1::UINT8) {
      return absl::StrCat("values of 8 bits, as all are compared (",
                          ShortName(output()), " is ", TypeName(output().type),
                          ")");
    }
    const std::string here = absl::StrFormat("here %.6g", unary.alpha());
    return unary.alpha() < 0
               ? absl::StrCat("slopes that are not negative (", here, ")")
               : absl::StrCat(
                     "slopes whose products no float rounds to a tie (", here,
                     ")");
  }

  std::string WhyNotSums() const {
    const int32_t bits = numerics_.accumulator_bits();
    // With 32 bits the reference wraps as well.
    if (bits == 0 || bits >= 32 || !target::HasSums(kind_)) return "";
    if (const auto sums = SumsOfProducts(graph_, op_, ranges_)) {
      if (Fits(*sums, bits)) return "";
      return absl::StrCat("sums that fit ", bits, " bits (here from ",
                          sums->low, " to ", sums->high, ")");
    }
    const int64_t terms = Terms();
    auto most = CheckedMul(terms, Largest(input(0)));
    if (most && weighted_) most = CheckedMul(*most, LargestWeight());
    if (most && *most < int64_t{1} << (bits - 1)) return "";
    return absl::StrCat("sums that fit ", bits, " bits (here ", terms,
                        weighted_ ? " products)" : " values)");
  }

  // Of one sum.
  int64_t Terms() const {
    if (weighted_) {
      return input(1).num_elements() /
             std::max<int64_t>(output().shape.back(), 1);
    }
    const v1::AveragePool2d& pool = op_.attributes.average_pool2d();
    return int64_t{pool.kernel_h()} * pool.kernel_w();
  }

  int64_t LargestWeight() const {
    return LargestOf(input(1),
                     RangeOf(numerics_.weight_values(), input(1).type));
  }

  static int64_t Largest(const Tensor& tensor) {
    return LargestOf(tensor, ops::RangeOf(tensor.type));
  }

  // The largest distance of a value from its zero point.
  static int64_t LargestOf(const Tensor& tensor, ops::QuantizedRange range) {
    int64_t largest = 0;
    for (const int32_t zero : tensor.quantization->zero_point) {
      largest = std::max(
          {largest, int64_t{zero} - range.min, int64_t{range.max} - zero});
    }
    return largest;
  }

  const Graph& graph_;
  const Op& op_;
  const v1::Numerics& numerics_;
  const ValueRanges& ranges_;
  const Kind kind_;
  const bool weighted_;
};

}  // namespace

std::string WhyNotNumerics(const Graph& graph, const Op& op,
                           const v1::Numerics& numerics,
                           const ValueRanges& ranges) {
  return NumericsMatch(graph, op, numerics, ranges).WhyNot();
}

// Exporters join the names of fused ops, so the name is cut, at a UTF-8
// boundary. Parentheses are dropped: reports group reasons by what stands
// outside of them.
std::string ShortName(const Tensor& tensor) {
  constexpr size_t kMost = 40;
  std::string text = tensor.name.size() <= kMost
                         ? tensor.name
                         : SanitizeText(tensor.name, kMost + 3);
  std::replace(text.begin(), text.end(), '(', '[');
  std::replace(text.begin(), text.end(), ')', ']');
  return text;
}

}  // namespace edgekiln::compiler
