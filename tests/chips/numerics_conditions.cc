#include "tests/chips/numerics_conditions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/passes/clamps.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;
using compiler::Tensor;
using compiler::TensorId;
using Pattern = v1::OpPattern;

bool IsPool(const Pattern& pattern) {
  return absl::EndsWith(pattern.ops(0), "_pool2d");
}

bool HasWeights(const Pattern& pattern) {
  return !pattern.numerics().weights().empty();
}

bool HasWindow(const Pattern& pattern) {
  return absl::EndsWith(pattern.ops(0), "conv2d") || IsPool(pattern);
}

// Operands and result have one quantization.
bool KeepsQuantization(const Pattern& pattern) {
  return pattern.numerics().requantization() ==
         v1::Numerics::REQUANTIZATION_UNSPECIFIED;
}

bool Always(const Pattern&) { return true; }

Tensor& InputOf(Graph& graph) { return graph.tensors[graph.ops[0].inputs[0]]; }
Tensor& WeightsOf(Graph& graph) {
  return graph.tensors[graph.ops[0].inputs[1]];
}
Tensor& OutputOf(Graph& graph) {
  return graph.tensors[graph.ops[0].outputs[0]];
}
// An activation that the layer reads or writes.
Tensor& AnyActivationOf(Graph& graph, Rng& rng) {
  return rng.Below(2) == 0 ? InputOf(graph) : OutputOf(graph);
}

void GiveAnotherType(const Pattern& pattern, Graph& graph, Rng& rng) {
  Tensor& tensor = AnyActivationOf(graph, rng);
  const auto& taken = pattern.numerics().activations();
  do {
    tensor.type = static_cast<v1::ElementType>(
        rng.InRange(v1::ElementType_MIN + 1, v1::ElementType_MAX));
  } while (!v1::ElementType_IsValid(tensor.type) ||
           std::count(taken.begin(), taken.end(), tensor.type) > 0);
}

void TakeScaleAway(const Pattern&, Graph& graph, Rng& rng) {
  Tensor& tensor = AnyActivationOf(graph, rng);
  if (rng.Below(2) == 0) {
    tensor.quantization.reset();
  } else {
    tensor.quantization->scale.push_back(1);
    tensor.quantization->zero_point.push_back(0);
  }
}

void Empty(const Pattern&, Graph& graph, Rng& rng) {
  Tensor& tensor = AnyActivationOf(graph, rng);
  tensor.shape[rng.Below(tensor.shape.size())] = 0;
}

void MakeOperandConstant(const Pattern& pattern, Graph& graph, Rng& rng) {
  const bool two = !HasWeights(pattern) && graph.ops[0].inputs.size() > 1;
  const bool second = two && rng.Below(2) == 0;
  const TensorId id = graph.ops[0].inputs[second ? 1 : 0];
  Tensor& tensor = graph.tensors[id];
  tensor.data = compiler::ConstantData(
      std::string(static_cast<size_t>(tensor.num_elements()), '\1'));
  graph.inputs.erase(std::find(graph.inputs.begin(), graph.inputs.end(), id));
}

void RoundHalfEven(const Pattern&, Graph& graph, Rng&) {
  graph.ops[0].attributes.set_rounding(v1::HALF_EVEN);
}

// The second operand gets the quantization of the first.
void MakeAddendsAlike(Graph& graph) {
  graph.tensors[graph.ops[0].inputs[1]].quantization =
      InputOf(graph).quantization;
}

void GiveAddendAnotherScale(const Pattern&, Graph& graph, Rng&) {
  WeightsOf(graph).quantization->scale[0] /= 2;
}

// On one side of the zero point, by one or more steps.
void LimitResults(const Pattern&, Graph& graph, Rng& rng) {
  v1::Clamp& clamp = *compiler::MutableClamp(graph.ops[0].attributes);
  const float limit = OutputOf(graph).quantization->scale[0] *
                      static_cast<float>(rng.InRange(2, 20));
  if (rng.Below(2) == 0) {
    clamp.set_max(limit);
  } else {
    clamp.set_min(-limit);
  }
}

// To the left, or by more bits than any sum has.
void ShiftFar(const Pattern&, Graph& graph, Rng& rng) {
  float& scale = OutputOf(graph).quantization->scale[0];
  scale = std::ldexp(scale, rng.Below(2) == 0 ? 40 : -40);
}

void MoveZero(const Pattern& pattern, Graph& graph, Rng& rng) {
  const int32_t zero = static_cast<int32_t>(rng.InRange(1, 127));
  Tensor& tensor = AnyActivationOf(graph, rng);
  tensor.quantization->zero_point[0] = zero;
  if (pattern.numerics().one_input_scale()) MakeAddendsAlike(graph);
  if (!KeepsQuantization(pattern)) return;
  const auto kept = tensor.quantization;
  for (Tensor& each : graph.tensors) each.quantization = kept;
}

void MakeWeightsAnInput(const Pattern&, Graph& graph, Rng&) {
  WeightsOf(graph).data = {};
  graph.inputs.push_back(graph.ops[0].inputs[1]);
}

void TakeScaleOfWeightsAway(const Pattern&, Graph& graph, Rng&) {
  WeightsOf(graph).quantization.reset();
}

void GiveWeightsAnotherType(const Pattern&, Graph& graph, Rng& rng) {
  WeightsOf(graph).type = rng.Below(2) == 0 ? v1::UINT8 : v1::INT16;
}

void MakeBiasAnInput(const Pattern&, Graph& graph, Rng&) {
  compiler::Op& op = graph.ops[0];
  if (op.inputs[2] == compiler::kNoTensor) {
    op.inputs[2] = static_cast<TensorId>(graph.tensors.size());
    Tensor bias;
    bias.name = "bias";
    bias.type = v1::INT32;
    bias.shape = {OutputOf(graph).shape.back()};
    graph.tensors.push_back(std::move(bias));
  }
  graph.tensors[op.inputs[2]].data = {};
  graph.inputs.push_back(op.inputs[2]);
}

void GiveChannelsScales(const Pattern&, Graph& graph, Rng&) {
  compiler::Quantization& weights = *WeightsOf(graph).quantization;
  weights.scale.assign(std::max<size_t>(weights.scale.size(), 2), 0.25f);
  weights.zero_point.assign(weights.scale.size(), 0);
}

void MoveZeroOfWeights(const Pattern&, Graph& graph, Rng& rng) {
  std::vector<int32_t>& zeros = WeightsOf(graph).quantization->zero_point;
  zeros[rng.Below(zeros.size())] = static_cast<int32_t>(rng.InRange(1, 127));
}

void Rescale(const Pattern& pattern, Graph& graph, Rng& rng) {
  compiler::Quantization& output = *OutputOf(graph).quantization;
  if (rng.Below(2) == 0 || !pattern.numerics().activation_zero_points()) {
    output.scale[0] *= 2;
  } else {
    output.zero_point[0] ^= 1;
  }
}

void TurnSlope(const Pattern&, Graph& graph, Rng&) {
  for (Tensor& tensor : graph.tensors) tensor.quantization->zero_point = {0};
  graph.ops[0].attributes.mutable_unary()->set_alpha(-0.5f);
}

// 0.1f is more than 0.1, but five times as much is a tie as a float.
void MakeTies(const Pattern&, Graph& graph, Rng&) {
  for (Tensor& tensor : graph.tensors) {
    tensor.quantization->scale = {1};
    tensor.quantization->zero_point = {0};
  }
  graph.ops[0].attributes.set_rounding(v1::HALF_EVEN);
  graph.ops[0].attributes.mutable_unary()->set_alpha(0.1f);
}

void GiveAnotherWeight(const Pattern&, Graph& graph, Rng& rng) {
  Tensor& weights = WeightsOf(graph);
  std::string data(*weights.data);
  data[rng.Below(data.size())] = 57;
  weights.data = compiler::ConstantData(std::move(data));
}

v1::Converter& ConverterOf(Graph& graph) {
  return *graph.ops[0].attributes.mutable_converter();
}

void TakeConverterAway(const Pattern&, Graph& graph, Rng&) {
  graph.ops[0].attributes.clear_converter();
}

void GiveConverter(const Pattern&, Graph& graph, Rng&) {
  ConverterOf(graph).set_gain(1);
}

void GiveMoreCodes(const Pattern&, Graph& graph, Rng& rng) {
  v1::Converter& converter = ConverterOf(graph);
  if (rng.Below(2) == 0) {
    converter.set_min(converter.min() - 1);
  } else {
    converter.set_max(converter.max() + 1);
  }
}

void GiveMoreGain(const Pattern&, Graph& graph, Rng&) {
  v1::Converter& converter = ConverterOf(graph);
  converter.set_gain(converter.gain() + 1);
}

void GiveMoreShift(const Pattern&, Graph& graph, Rng&) {
  v1::Converter& converter = ConverterOf(graph);
  converter.set_shift(converter.shift() + 1);
}

void GiveOddScale(const Pattern&, Graph& graph, Rng& rng) {
  OutputOf(graph).quantization->scale[0] *=
      1.0f + 0.125f * static_cast<float>(rng.InRange(1, 7));
}

// More than one sum of 24 bits holds, of random weights.
void EnlargeSum(const Pattern& pattern, LayerSizes& sizes) {
  Shrink(sizes);
  if (pattern.ops(0) == "conv2d") {
    sizes.c = 2100;
    return;
  }
  sizes.window.kernel[0] = 512;
  sizes.window.kernel[1] = 256;
  PadToFit(sizes.window);
}

std::string Types(const google::protobuf::RepeatedField<int>& types) {
  std::vector<std::string> names;
  for (const int type : types) {
    names.push_back(absl::AsciiStrToLower(
        v1::ElementType_Name(static_cast<v1::ElementType>(type))));
  }
  return absl::StrJoin(names, " or ");
}

bool Rounds(const Pattern& pattern, v1::Rounding rounding) {
  const auto& all = pattern.numerics().roundings();
  return std::count(all.begin(), all.end(), rounding) > 0;
}

bool IsLeakyRelu(const Pattern& pattern) {
  return pattern.ops(0) == "leaky_relu";
}

bool GivesSums(const Pattern& pattern) {
  return pattern.numerics().requantization() == v1::Numerics::NOT_REQUANTIZED;
}

bool Converts(const Pattern& pattern) {
  return pattern.numerics().requantization() == v1::Numerics::ADC;
}

std::string RoundingNames(const Pattern& pattern) {
  std::vector<std::string> names;
  for (const int rounding : pattern.numerics().roundings()) {
    names.push_back(rounding == v1::HALF_UP     ? "half up"
                    : rounding == v1::HALF_EVEN ? "half to even"
                                                : "down");
  }
  return absl::StrJoin(names, " or ");
}

const NumericsCondition kConditions[] = {
    {"ElementType", "activations",
     [](const Pattern& p) { return !GivesSums(p); }, nullptr, GiveAnotherType,
     [](const Pattern& p) {
       return absl::StrCat(Types(p.numerics().activations()), " tensors (");
     }},
    {"Rounding", "roundings",
     [](const Pattern& p) {
       return !GivesSums(p) && !Rounds(p, v1::HALF_EVEN);
     },
     nullptr, RoundHalfEven,
     [](const Pattern& p) {
       return absl::StrCat("rounding ", RoundingNames(p),
                           " (here half to even)");
     }},
    {"ZeroPoints", "activation_zero_points",
     [](const Pattern& p) {
       return !GivesSums(p) && !p.numerics().activation_zero_points();
     },
     nullptr, MoveZero,
     [](const Pattern&) { return std::string("tensors with zero point 0 ("); }},
    {"ScalesOfWeights", "per_channel",
     [](const Pattern& p) {
       return HasWeights(p) && !p.numerics().per_channel();
     },
     nullptr, GiveChannelsScales,
     [](const Pattern&) { return std::string("weights with one scale ("); }},
    {"ZeroOfWeights", "weight_zero_points",
     [](const Pattern& p) {
       return HasWeights(p) && !p.numerics().weight_zero_points();
     },
     nullptr, MoveZeroOfWeights,
     [](const Pattern&) { return std::string("symmetric weights"); }},
    {"TypeOfWeights", "weights", HasWeights, nullptr, GiveWeightsAnotherType,
     [](const Pattern& p) {
       return absl::StrCat(Types(p.numerics().weights()), " weights (here ");
     }},
    {"Shift", "requantization",
     [](const Pattern& p) {
       return p.numerics().requantization() == v1::Numerics::SHIFT;
     },
     nullptr, GiveOddScale,
     [](const Pattern&) {
       return std::string("scales whose ratio is a power of two (here ");
     }},
    {"LargestShift", "largest_shift",
     [](const Pattern& p) { return p.numerics().largest_shift() > 0; }, nullptr,
     ShiftFar,
     [](const Pattern& p) {
       return absl::StrCat("shifts right by 0 to ",
                           p.numerics().largest_shift(), " bits (here by ");
     }},
    {"Addends", "one_input_scale",
     [](const Pattern& p) { return p.numerics().one_input_scale(); }, nullptr,
     GiveAddendAnotherScale,
     [](const Pattern&) {
       return std::string("one scale for both operands (here ");
     }},
    {"Clamps", "plain_clamps",
     [](const Pattern& p) { return p.numerics().plain_clamps(); }, nullptr,
     LimitResults, [](const Pattern&) { return std::string("results "); }},
    {"ValuesOfWeights", "weight_values",
     [](const Pattern& p) {
       return p.numerics().weight_values() != v1::WEIGHTS_ANY;
     },
     nullptr, GiveAnotherWeight,
     [](const Pattern& p) {
       return std::string(p.numerics().weight_values() == v1::WEIGHTS_TERNARY
                              ? "weights of -1, 0 and 1 (here up to 57)"
                              : "weights from -8 to 7 (here up to 57)");
     }},
    {"Converter", "requantization", Converts, nullptr, TakeConverterAway,
     [](const Pattern&) {
       return std::string("a converter for its results (here factors)");
     }},
    {"NoConverter", "",
     [](const Pattern& p) {
       return HasWeights(p) && !Converts(p) && !GivesSums(p);
     },
     nullptr, GiveConverter,
     [](const Pattern&) {
       return std::string("factors for its results (here a converter)");
     }},
    {"Codes", "", Converts, nullptr, GiveMoreCodes,
     [](const Pattern& p) {
       return absl::StrCat("codes from ", p.numerics().converter().min(),
                           " to ", p.numerics().converter().max(), " (here ");
     }},
    {"Gain", "converter", Converts, nullptr, GiveMoreGain,
     [](const Pattern& p) {
       return absl::StrCat("gains up to ", p.numerics().converter().max_gain(),
                           " (here ");
     }},
    {"ShiftOfCodes", "converter", Converts, nullptr, GiveMoreShift,
     [](const Pattern& p) {
       return absl::StrCat("shifts up to ",
                           p.numerics().converter().max_shift(),
                           " behind the converter (here ");
     }},
    {"Sums", "accumulator_bits",
     [](const Pattern& p) {
       // So many products of few weights take too long to make.
       return HasWindow(p) && p.numerics().accumulator_bits() == 24 &&
              (p.ops(0) != "conv2d" ||
               p.numerics().weight_values() == v1::WEIGHTS_ANY);
     },
     EnlargeSum, nullptr,
     [](const Pattern&) {
       return std::string("sums that fit 24 bits (here ");
     }},
    {"OneScale", "", [](const Pattern& p) { return !GivesSums(p); }, nullptr,
     TakeScaleAway,
     [](const Pattern&) {
       return std::string("tensors quantized with one scale (");
     }},
    {"NotEmpty", "", Always, nullptr, Empty,
     [](const Pattern&) {
       return std::string("tensors that are not empty (");
     }},
    {"Activations", "", Always, nullptr, MakeOperandConstant,
     [](const Pattern&) {
       return std::string("operands that are activations (");
     }},
    {"ConstantWeights", "", HasWeights, nullptr, MakeWeightsAnInput,
     [](const Pattern&) { return std::string("constant weights"); }},
    {"QuantizedWeights", "", HasWeights, nullptr, TakeScaleOfWeightsAway,
     [](const Pattern&) { return std::string("quantized weights"); }},
    {"ConstantBias", "", HasWeights, nullptr, MakeBiasAnInput,
     [](const Pattern&) { return std::string("a constant bias"); }},
    {"ScaleOfPool", "", IsPool, nullptr, Rescale,
     [](const Pattern&) {
       return std::string("pools that keep the quantization of their input");
     }},
    {"OneQuantization", "",
     [](const Pattern& p) { return KeepsQuantization(p) && !IsPool(p); },
     nullptr, Rescale,
     [](const Pattern&) {
       return std::string("one quantization for operands and result (");
     }},
    {"Slope", "", IsLeakyRelu, nullptr, TurnSlope,
     [](const Pattern&) {
       return std::string("slopes that are not negative (here -0.5)");
     }},
    {"Ties", "",
     [](const Pattern& p) {
       return IsLeakyRelu(p) && Rounds(p, v1::HALF_EVEN);
     },
     nullptr, MakeTies,
     [](const Pattern&) {
       return std::string("slopes whose products no float rounds to a tie (");
     }},
};

}  // namespace

Pattern Tightened(Pattern pattern, Rng& rng) {
  v1::Numerics& numerics = *pattern.mutable_numerics();
  numerics.set_per_channel(false);
  numerics.set_weight_zero_points(false);
  numerics.set_activation_zero_points(false);
  if (numerics.accumulator_bits() > 0) numerics.set_accumulator_bits(24);
  if (HasWeights(pattern) && numerics.weight_values() == v1::WEIGHTS_ANY &&
      rng.Below(2) == 0) {
    numerics.set_weight_values(rng.Below(2) == 0 ? v1::WEIGHTS_INT4
                                                 : v1::WEIGHTS_TERNARY);
  }
  if (Converts(pattern)) {
    numerics.mutable_converter()->set_max_gain(100);
    numerics.mutable_converter()->set_max_shift(9);
  } else if (!GivesSums(pattern)) {
    numerics.clear_roundings();
    numerics.add_roundings(v1::HALF_UP);
    if (!KeepsQuantization(pattern)) {
      numerics.set_requantization(v1::Numerics::SHIFT);
      numerics.set_largest_shift(static_cast<int32_t>(rng.InRange(16, 31)));
    }
    // Of one op: what a chain adds, its ops before it make.
    numerics.set_one_input_scale(pattern.ops_size() == 1 &&
                                 pattern.ops(0) == "add");
  }
  const auto add = [&](const std::string& expr, const std::string& need,
                       int64_t most) {
    // In front of what registers imply.
    v1::OpPattern::Condition& condition = *pattern.add_where();
    condition.set_expr(absl::StrCat(expr, " <= ", most));
    condition.set_need(absl::StrCat(need, " up to ", most));
    pattern.mutable_where()->SwapElements(0, pattern.where_size() - 1);
  };
  if (HasWindow(pattern)) {
    add("max(kernel_h, kernel_w)", "kernels", rng.InRange(2, 4));
    add("max(stride_h, stride_w)", "strides", rng.InRange(1, 3));
  }
  add("max(in_w, out_w)", "widths", rng.InRange(6, 12));
  return pattern;
}

Pattern Lifted(Pattern pattern, const NumericsCondition& condition) {
  v1::Numerics& numerics = *pattern.mutable_numerics();
  const std::string field = condition.field;
  const auto all = [](auto* types) {
    types->Clear();
    for (int type = v1::ElementType_MIN + 1; type <= v1::ElementType_MAX;
         ++type) {
      if (v1::ElementType_IsValid(type)) types->Add(type);
    }
  };
  if (field == "activations") all(numerics.mutable_activations());
  if (field == "weights") all(numerics.mutable_weights());
  if (field == "per_channel") numerics.set_per_channel(true);
  if (field == "activation_zero_points") {
    numerics.set_activation_zero_points(true);
  }
  if (field == "weight_zero_points") numerics.set_weight_zero_points(true);
  if (field == "one_input_scale") numerics.set_one_input_scale(false);
  if (field == "largest_shift") numerics.set_largest_shift(0);
  if (field == "plain_clamps") numerics.set_plain_clamps(false);
  if (field == "weight_values") numerics.set_weight_values(v1::WEIGHTS_ANY);
  if (field == "converter") {
    numerics.mutable_converter()->set_max_gain(
        std::numeric_limits<int32_t>::max());
    numerics.mutable_converter()->set_max_shift(100);
  }
  if (field == "requantization") {
    numerics.set_requantization(v1::Numerics::MULTIPLIER_AND_SHIFT);
  }
  if (field == "roundings") numerics.add_roundings(v1::HALF_EVEN);
  // Sums of the other types need more bits, too.
  numerics.set_accumulator_bits(
      field == "accumulator_bits" || numerics.accumulator_bits() > 0 ? 32 : 0);
  return pattern;
}

void PrintTo(const NumericsCondition& condition, std::ostream* out) {
  *out << condition.name;
}

const std::vector<NumericsCondition>& NumericsConditions() {
  static const auto* all = new std::vector<NumericsCondition>(
      std::begin(kConditions), std::end(kConditions));
  return *all;
}

}  // namespace edgekiln::tests
