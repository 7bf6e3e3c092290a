#include "compiler/quantize/layer_schemes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/quantize/integer_choice.h"
#include "target/nearest_name.h"

namespace edgekiln::compiler {
namespace {

constexpr int kMostSamples = 1 << 20;
constexpr int kMostBudget = 1'000'000;
// As in descriptors; with the most, nothing is adapted.
constexpr int kFewestAccumulatorBits = 8;
constexpr int kMostAccumulatorBits = 32;

absl::Status Bad(absl::StatusCode code, std::string reason, std::string what,
                 std::string where, std::string limit, std::string fix) {
  return MakeError(code, {.fault = Fault::kUser,
                          .reason = std::move(reason),
                          .what = std::move(what),
                          .where = std::move(where),
                          .limit = std::move(limit),
                          .fix = std::move(fix)});
}

absl::Status BadValue(std::string what, std::string limit) {
  return Bad(absl::StatusCode::kInvalidArgument, "QUANTIZATION_INVALID",
             std::move(what), "the quantization file", std::move(limit),
             "docs/quantization.md lists the keys and their values");
}

bool IsKnown(const v1::LayerScheme& scheme) {
  return v1::LayerScheme::Weights_IsValid(scheme.weights()) &&
         v1::Switch_IsValid(scheme.per_tensor()) &&
         v1::WeightRange_IsValid(scheme.weight_range()) &&
         v1::WeightRounding_IsValid(scheme.rounding()) &&
         v1::Switch_IsValid(scheme.keep_float());
}

absl::Status CheckNumbers(const v1::LayerScheme& scheme) {
  if (scheme.channels_per_scale() < 0) {
    return BadValue(
        absl::StrCat("channels_per_scale: ", scheme.channels_per_scale()),
        "0 and more");
  }
  const int32_t bits = scheme.accumulator_bits();
  if (bits == 0 ||
      (bits >= kFewestAccumulatorBits && bits <= kMostAccumulatorBits)) {
    return absl::OkStatus();
  }
  return BadValue(
      absl::StrCat("accumulator_bits: ", bits),
      absl::StrCat(kFewestAccumulatorBits, " to ", kMostAccumulatorBits));
}

// "*" stands for any characters. Linear but for a factor of the stars.
bool Matches(absl::string_view pattern, absl::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = absl::string_view::npos;
  size_t after_star = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool IsAboutWeights(const v1::LayerScheme& scheme) {
  return scheme.weights() != v1::LayerScheme::WEIGHTS_UNSPECIFIED ||
         scheme.per_tensor() != v1::SWITCH_UNSPECIFIED ||
         scheme.weight_range() != v1::WEIGHT_RANGE_UNSPECIFIED ||
         scheme.rounding() != v1::WEIGHT_ROUNDING_UNSPECIFIED ||
         scheme.channels_per_scale() != 0 || scheme.accumulator_bits() != 0;
}

absl::Status CheckRule(const Graph& graph,
                       const v1::QuantizationConfig::LayerRule& rule) {
  std::vector<std::string> ids;
  const Op* without_weights = nullptr;
  bool with_weights = false;
  for (const Op& op : graph.ops) {
    ids.push_back(op.id);
    if (!Matches(rule.layer(), op.id)) continue;
    if (WeightAxis(op) >= 0) {
      with_weights = true;
    } else {
      without_weights = &op;
    }
  }
  if (!with_weights && without_weights == nullptr) {
    return Bad(absl::StatusCode::kInvalidArgument, "LAYER_UNKNOWN",
               "a rule of the quantization file is about no layer",
               absl::StrCat("layers { layer: \"",
                            SanitizeText(rule.layer(), 64), "\" }"),
               absl::StrCat(graph.ops.size(), " layers"),
               target::DidYouMean(rule.layer(), ids,
                                  "edgekiln inspect MODEL lists the layers"));
  }
  if (!with_weights && IsAboutWeights(rule.scheme())) {
    return Bad(absl::StatusCode::kInvalidArgument, "LAYER_WITHOUT_WEIGHTS",
               absl::StrCat("a rule about weights names a layer that has none"),
               absl::StrCat("layer ", without_weights->id, " (",
                            without_weights->kind(), ")"),
               "conv2d, depthwise_conv2d and fully_connected have weights",
               "name such a layer, or leave the rule out");
  }
  return absl::OkStatus();
}

v1::LayerScheme Defaults(bool has_samples) {
  v1::LayerScheme scheme;
  scheme.set_per_tensor(v1::OFF);
  scheme.set_weights(v1::LayerScheme::INT8);
  scheme.set_weight_range(has_samples ? v1::LEAST_OUTPUT_ERROR
                                      : v1::LARGEST_WEIGHT);
  scheme.set_rounding(has_samples ? v1::ADAPTIVE : v1::NEAREST);
  scheme.set_keep_float(v1::OFF);
  return scheme;
}

const v1::QuantizationNeeds::Op* NeedOf(const v1::QuantizationNeeds& needs,
                                        absl::string_view op) {
  for (const v1::QuantizationNeeds::Op& need : needs.ops()) {
    if (need.op() == op) return &need;
  }
  return nullptr;
}

v1::WeightValues WidestWeights(const v1::QuantizationNeeds& needs,
                               absl::string_view op) {
  const v1::QuantizationNeeds::Op* need = NeedOf(needs, op);
  return need == nullptr ? v1::WEIGHTS_ANY : need->weight_values();
}

v1::WeightValues ValuesOf(v1::LayerScheme::Weights weights) {
  switch (weights) {
    case v1::LayerScheme::INT4:
      return v1::WEIGHTS_INT4;
    case v1::LayerScheme::TERNARY:
      return v1::WEIGHTS_TERNARY;
    default:
      return v1::WEIGHTS_ANY;
  }
}

// Ternary engines get int8 layers by default, which then run on the host: who
// asks for that is given it.
bool TakesNoSuchWeights(v1::WeightValues widest,
                        v1::LayerScheme::Weights asked) {
  return (widest == v1::WEIGHTS_INT4 && asked == v1::LayerScheme::INT8) ||
         (widest == v1::WEIGHTS_TERNARY && asked == v1::LayerScheme::INT4);
}

void Overlay(const v1::LayerScheme& over, v1::LayerScheme& scheme) {
  // Fields that are not set have the number 0 and are not merged.
  scheme.MergeFrom(over);
}

}  // namespace

absl::Status CheckQuantizationConfig(const v1::QuantizationConfig& config) {
  bool known =
      IsKnown(config.scheme()) && v1::Switch_IsValid(config.equalization()) &&
      v1::Switch_IsValid(config.bias_correction()) &&
      v1::Switch_IsValid(config.symmetric_activations()) &&
      v1::QuantizationConfig::Activations_IsValid(config.activations()) &&
      v1::CalibrateOptions::Method_IsValid(config.ranges().method());
  for (const auto& rule : config.layers()) {
    known = known && IsKnown(rule.scheme());
  }
  if (!known) return BadValue("a value that no key takes", "");
  EK_RETURN_IF_ERROR(CheckNumbers(config.scheme()));
  for (const auto& rule : config.layers()) {
    EK_RETURN_IF_ERROR(CheckNumbers(rule.scheme()));
  }
  if (config.activations() == v1::QuantizationConfig::ACTIVATIONS_INT16 &&
      config.symmetric_activations() == v1::OFF) {
    return BadValue("symmetric_activations: OFF and ACTIVATIONS_INT16",
                    "int16 has zero points of 0");
  }
  const int ppm = config.ranges().percentile_ppm();
  if (ppm != 0 &&
      config.ranges().method() != v1::CalibrateOptions::PERCENTILE) {
    return BadValue("percentile_ppm goes with another method",
                    "ranges { method: PERCENTILE percentile_ppm: .. }");
  }
  if (ppm != 0 && (ppm <= 500'000 || ppm > 1'000'000)) {
    return BadValue(absl::StrCat("percentile_ppm is ", ppm),
                    "500001 to 1000000");
  }
  if (config.accuracy_budget_ppm() < 0 ||
      config.accuracy_budget_ppm() > kMostBudget) {
    return BadValue(
        absl::StrCat("accuracy_budget_ppm is ", config.accuracy_budget_ppm()),
        absl::StrCat("1 to ", kMostBudget, ", or 0 for 5000"));
  }
  if (config.samples() < 0 || config.samples() > kMostSamples) {
    return BadValue(absl::StrCat("samples is ", config.samples()),
                    absl::StrCat("0 to ", kMostSamples));
  }
  return absl::OkStatus();
}

v1::ElementType ActivationsOf(const v1::QuantizationConfig& config,
                              const v1::QuantizationNeeds& needs) {
  switch (config.activations()) {
    case v1::QuantizationConfig::ACTIVATIONS_INT8:
      return v1::INT8;
    case v1::QuantizationConfig::ACTIVATIONS_UINT8:
      return v1::UINT8;
    case v1::QuantizationConfig::ACTIVATIONS_INT16:
      return v1::INT16;
    default:
      return needs.activations() == v1::ELEMENT_TYPE_UNSPECIFIED
                 ? v1::INT8
                 : needs.activations();
  }
}

v1::QuantizationNeeds NeedsWith(v1::ElementType activations,
                                v1::QuantizationNeeds needs) {
  const v1::ElementType taken =
      needs.activations() == v1::ELEMENT_TYPE_UNSPECIFIED ? v1::INT8
                                                          : needs.activations();
  if (activations == taken) return needs;
  if (activations != v1::UINT8 || taken != v1::INT8) {
    // For MayBeWide().
    v1::QuantizationNeeds none;
    none.set_activations(needs.activations());
    return none;
  }
  auto& ops = *needs.mutable_ops();
  for (v1::QuantizationNeeds::Op& op : ops) {
    auto& forms = *op.mutable_narrower();
    forms.erase(
        std::remove_if(forms.begin(), forms.end(),
                       [](const auto& form) { return form.has_converter(); }),
        forms.end());
  }
  ops.erase(std::remove_if(ops.begin(), ops.end(),
                           [](const auto& op) { return op.has_converter(); }),
            ops.end());
  return needs;
}

v1::QuantizeOptions WithHeldNeeds(v1::QuantizeOptions options) {
  const v1::ElementType activations =
      ActivationsOf(options.config(), options.needs());
  *options.mutable_needs() = NeedsWith(activations, options.needs());
  return options;
}

bool MayBeWide(v1::ElementType activations,
               const v1::QuantizationNeeds& needs) {
  return activations == v1::INT16 && needs.activations() != v1::INT16;
}

ScaleRules RulesFor(const v1::QuantizationConfig& config,
                    const v1::QuantizationNeeds& needs) {
  return {.symmetric = needs.symmetric_activations() ||
                       config.symmetric_activations() == v1::ON,
          .power_of_two = needs.power_of_two_scales(),
          .equal_addends = needs.equal_addends(),
          .activations = ActivationsOf(config, needs)};
}

std::vector<bool> KeptFloat(const std::vector<v1::LayerScheme>& schemes) {
  std::vector<bool> kept;
  for (const v1::LayerScheme& scheme : schemes) {
    kept.push_back(scheme.keep_float() == v1::ON);
  }
  return kept;
}

absl::StatusOr<std::vector<v1::LayerScheme>> AskedSchemes(
    const Graph& graph, const v1::QuantizationConfig& config) {
  EK_RETURN_IF_ERROR(CheckQuantizationConfig(config));
  for (const auto& rule : config.layers()) {
    EK_RETURN_IF_ERROR(CheckRule(graph, rule));
  }
  std::vector<v1::LayerScheme> schemes;
  for (const Op& op : graph.ops) {
    v1::LayerScheme& asked = schemes.emplace_back();
    Overlay(config.scheme(), asked);
    for (const auto& rule : config.layers()) {
      if (Matches(rule.layer(), op.id)) Overlay(rule.scheme(), asked);
    }
  }
  return schemes;
}

absl::StatusOr<std::vector<v1::LayerScheme>> LayerSchemes(
    const Graph& graph, const v1::QuantizationConfig& config,
    const v1::QuantizationNeeds& needs, bool has_samples) {
  EK_ASSIGN_OR_RETURN(const std::vector<v1::LayerScheme> all_asked,
                      AskedSchemes(graph, config));
  if (needs.symmetric_activations() &&
      config.symmetric_activations() == v1::OFF) {
    return Bad(absl::StatusCode::kUnimplemented, "SCHEME_UNSUPPORTED",
               "zero points of activations are asked for",
               "symmetric_activations", "the target's engines take none but 0",
               "leave symmetric_activations out, or choose another target");
  }
  if (config.ranges().method() == v1::CalibrateOptions::KL &&
      ActivationsOf(config, needs) == v1::INT16) {
    // Values are counted in fewer bins than int16 has levels.
    return BadValue("ranges by KL of int16 activations",
                    "MIN_MAX, PERCENTILE, MOVING_AVERAGE, MSE, OUTPUT_MSE");
  }
  std::vector<v1::LayerScheme> schemes;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    const v1::LayerScheme& asked = all_asked[i];
    const bool one_scale =
        std::find(needs.per_tensor().begin(), needs.per_tensor().end(),
                  op.kind()) != needs.per_tensor().end();
    if (asked.per_tensor() == v1::ON && asked.channels_per_scale() > 0) {
      return BadValue(
          absl::StrCat("per_tensor: ON and channels_per_scale: ",
                       asked.channels_per_scale(), " for layer ", op.id),
          "one of them");
    }
    if (one_scale &&
        (asked.per_tensor() == v1::OFF || asked.channels_per_scale() > 0)) {
      return Bad(absl::StatusCode::kUnimplemented, "SCHEME_UNSUPPORTED",
                 "more than one scale is asked for",
                 absl::StrCat("layer ", op.id, " (", op.kind(), ")"),
                 "the target's engines take one scale for a layer's weights",
                 "leave per_tensor and channels_per_scale out, or choose "
                 "another target");
    }
    if (TakesNoSuchWeights(WidestWeights(needs, op.kind()), asked.weights())) {
      return Bad(absl::StatusCode::kUnimplemented, "SCHEME_UNSUPPORTED",
                 absl::StrCat(v1::LayerScheme::Weights_Name(asked.weights()),
                              " weights are asked for"),
                 absl::StrCat("layer ", op.id, " (", op.kind(), ")"),
                 "the target's engines take fewer values",
                 "leave weights out, or put the layer on the host with "
                 "keep_float: ON");
    }
    v1::LayerScheme scheme = Defaults(has_samples);
    if (one_scale) scheme.set_per_tensor(v1::ON);
    if (WidestWeights(needs, op.kind()) == v1::WEIGHTS_INT4) {
      scheme.set_weights(v1::LayerScheme::INT4);
    }
    Overlay(asked, scheme);
    if (WeightAxis(op) >= 0 && scheme.accumulator_bits() == 0) {
      scheme.set_accumulator_bits(
          AccumulatorBitsOf(needs, op, scheme.weights()));
    }
    if (scheme.accumulator_bits() == kMostAccumulatorBits) {
      scheme.clear_accumulator_bits();
    }
    // Of 8 bits for a channel's weights, clipping saves nothing.
    if (scheme.weights() == v1::LayerScheme::INT8 &&
        scheme.per_tensor() == v1::OFF && scheme.channels_per_scale() <= 1 &&
        asked.weight_range() == v1::WEIGHT_RANGE_UNSPECIFIED) {
      scheme.set_weight_range(v1::LARGEST_WEIGHT);
    }
    if (scheme.weights() != v1::LayerScheme::INT8 && !has_samples &&
        asked.weight_range() == v1::WEIGHT_RANGE_UNSPECIFIED) {
      scheme.set_weight_range(v1::LEAST_WEIGHT_ERROR);
    }
    if (!has_samples) {
      scheme.set_rounding(v1::NEAREST);
      if (scheme.weight_range() == v1::LEAST_OUTPUT_ERROR) {
        scheme.set_weight_range(v1::LEAST_WEIGHT_ERROR);
      }
    }
    schemes.push_back(std::move(scheme));
  }
  return schemes;
}

namespace {

// What the engine with the fewest values that takes such weights of the op has;
// nothing if none takes them.
struct TakingForm {
  const v1::Numerics::Converter* converter = nullptr;
  int32_t accumulator_bits = 0;
};

TakingForm TakingFormOf(const v1::QuantizationNeeds& needs, const Op& op,
                        v1::LayerScheme::Weights weights) {
  const auto form_of = [](const auto& form) {
    return TakingForm{form.has_converter() ? &form.converter() : nullptr,
                      form.accumulator_bits()};
  };
  const v1::QuantizationNeeds::Op* need = NeedOf(needs, op.kind());
  if (need == nullptr) return {};
  const v1::WeightValues values = ValuesOf(weights);
  // From the fewest values to the most, as the enumeration rises.
  for (int i = need->narrower_size() - 1; i >= 0; --i) {
    const v1::QuantizationNeeds::Op::Form& form = need->narrower(i);
    if (form.weight_values() <= values) return form_of(form);
  }
  return need->weight_values() <= values ? form_of(*need) : TakingForm();
}

}  // namespace

const v1::Numerics::Converter* ConverterOf(const v1::QuantizationNeeds& needs,
                                           const Op& op,
                                           v1::LayerScheme::Weights weights) {
  if (op.attributes.conv2d().groups() > 1) return nullptr;
  return TakingFormOf(needs, op, weights).converter;
}

int32_t AccumulatorBitsOf(const v1::QuantizationNeeds& needs, const Op& op,
                          v1::LayerScheme::Weights weights) {
  return TakingFormOf(needs, op, weights).accumulator_bits;
}

}  // namespace edgekiln::compiler
