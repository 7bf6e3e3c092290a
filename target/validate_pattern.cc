#include "target/validate_pattern.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/expression.h"
#include "target/nearest_name.h"
#include "target/op_variables.h"
#include "target/pattern_conditions.h"
#include "target/pattern_ops.h"

namespace edgekiln::target {
namespace {

constexpr int kMaxOps = 8;
constexpr int kMaxConditions = 8192;  // With those that are implied.
constexpr int kMaxTypes = 32;
constexpr int kMostKernelPadding = 8;
constexpr int kMinAccumulatorBits = 8;
constexpr int kMaxAccumulatorBits = 64;
constexpr int kMostShift = 31;  // Of int32 sums.

absl::Status Invalid(const v1::OpPattern& pattern, std::string what,
                     absl::string_view key, std::string fix) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "TARGET_INVALID",
       .what = std::move(what),
       .where = absl::StrCat("patterns ", ChainName(pattern), ": ", key),
       .fix = std::move(fix)});
}

absl::Status CheckOps(const v1::OpPattern& pattern) {
  if (pattern.ops().empty() || pattern.ops_size() > kMaxOps) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.reason = "TARGET_INVALID",
         .what = pattern.ops().empty() ? "ops is missing" : "too many ops",
         .where = "patterns: ops",
         .limit = absl::StrCat("1 to ", kMaxOps),
         .fix = "ops: \"conv2d\""});
  }
  for (const std::string& op : pattern.ops()) {
    if (FindOp(op)) continue;
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.reason = "TARGET_INVALID",
         .what = absl::StrCat("no op is called \"", op, "\""),
         .where = "patterns: ops",
         .fix =
             DidYouMean(op, OpNames(),
                        "names are those of proto/edgekiln/v1/graph.proto: "
                        "ops of OpAttributes, functions of Unary and Binary")});
  }
  return absl::OkStatus();
}

absl::Status CheckKernelPadding(const v1::OpPattern& pattern) {
  const int32_t most = pattern.most_kernel_padding();
  const char* const kKey = "most_kernel_padding";
  if (most < 0 || most > kMostKernelPadding) {
    return Invalid(pattern, absl::StrCat(kKey, " is ", most), kKey,
                   absl::StrCat("0 to ", kMostKernelPadding));
  }
  const OpCase first = *FindOp(pattern.ops(0));
  if (most == 0 || first == OpCase::kConv2D ||
      first == OpCase::kDepthwiseConv2D) {
    return absl::OkStatus();
  }
  return Invalid(pattern, "the first op has no kernel to pad", kKey,
                 "leave it out, or begin with \"conv2d\"");
}

absl::Status CheckPhases(const v1::OpPattern& pattern) {
  const char* const kKey = "phases_expr";
  if (pattern.phases_expr().empty()) return absl::OkStatus();
  if (pattern.ops_size() > 1 || *FindOp(pattern.ops(0)) != OpCase::kConv2D) {
    return Invalid(pattern, "only a convolution by itself has phases", kKey,
                   "leave it out, or have \"conv2d\" alone");
  }
  return absl::OkStatus();
}

// Whether all values of an enumeration are known and distinct.
template <typename Values, typename IsValid>
bool AreDistinct(const Values& values, const IsValid& is_valid) {
  std::set<int> seen;
  for (const int value : values) {
    if (!is_valid(value) || !seen.insert(value).second) return false;
  }
  return values.size() <= kMaxTypes;
}

bool IsElementType(int type) {
  return v1::ElementType_IsValid(type) && type != v1::ELEMENT_TYPE_UNSPECIFIED;
}

// Whether any, or all, ops of the chain have a property.
template <typename Property>
bool AnyOp(const v1::OpPattern& pattern, const Property& property) {
  for (const std::string& op : pattern.ops()) {
    if (property(*FindOp(op))) return true;
  }
  return false;
}
template <typename Property>
bool AllOps(const v1::OpPattern& pattern, const Property& property) {
  return !AnyOp(pattern, [&](OpCase op) { return !property(op); });
}

// Values are those of 8 bits, around a zero point of 0.
absl::Status CheckWeightValues(const v1::OpPattern& pattern) {
  const v1::Numerics& numerics = pattern.numerics();
  const char* const kKey = "numerics: weight_values";
  if (!v1::WeightValues_IsValid(numerics.weight_values())) {
    return Invalid(pattern, "weight_values is unknown", kKey,
                   "WEIGHTS_INT4 or WEIGHTS_TERNARY");
  }
  if (numerics.weight_values() == v1::WEIGHTS_ANY) return absl::OkStatus();
  if (numerics.weights_size() == 1 && numerics.weights(0) == v1::INT8 &&
      !numerics.weight_zero_points()) {
    return absl::OkStatus();
  }
  return Invalid(pattern, "weight_values are those of symmetric INT8 weights",
                 kKey, "weights: INT8, without weight_zero_points");
}

absl::Status CheckWeights(const v1::OpPattern& pattern) {
  const v1::Numerics& numerics = pattern.numerics();
  const char* const kKey = "numerics: weights";
  if (AnyOp(pattern, HasWeights)) {
    if (numerics.weights().empty()) {
      return Invalid(pattern, "weights is missing", kKey, "weights: INT8");
    }
    if (!AreDistinct(numerics.weights(), IsElementType)) {
      return Invalid(pattern, "a type is unknown or occurs twice", kKey,
                     "weights: INT8");
    }
    return CheckWeightValues(pattern);
  }
  const char* const named =
      !numerics.weights().empty()                   ? "weights"
      : numerics.per_channel()                      ? "per_channel"
      : numerics.weight_zero_points()               ? "weight_zero_points"
      : numerics.weight_values() != v1::WEIGHTS_ANY ? "weight_values"
                                                    : nullptr;
  if (named == nullptr) return absl::OkStatus();
  return Invalid(pattern,
                 absl::StrCat(named, " is given, but the ops have no weights"),
                 absl::StrCat("numerics: ", named), "remove it");
}

// Of which sums and factors are rounded down, if asked (ops/rounding.h).
bool Floors(OpCase op) {
  return op == OpCase::kConv2D || op == OpCase::kDepthwiseConv2D ||
         op == OpCase::kFullyConnected || op == OpCase::kAdd ||
         op == OpCase::kRequantize;
}

// What a converter can do is given with ADC, and only then.
absl::Status CheckConverter(const v1::OpPattern& pattern) {
  const v1::Numerics& numerics = pattern.numerics();
  const bool adc = numerics.requantization() == v1::Numerics::ADC;
  if (!adc) {
    if (!numerics.has_converter()) return absl::OkStatus();
    return Invalid(pattern, "converter is given without requantization: ADC",
                   "numerics: converter", "remove it");
  }
  const v1::Numerics::Converter& converter = numerics.converter();
  const auto wrong = [&](std::string what, absl::string_view key) {
    return Invalid(pattern, std::move(what),
                   absl::StrCat("numerics: converter: ", key),
                   "converter { min: -32 max: 31 max_gain: 4096 max_shift: 15 "
                   "}");
  };
  constexpr int32_t kLeast = std::numeric_limits<int16_t>::min();
  constexpr int32_t kMost = std::numeric_limits<int16_t>::max();
  constexpr int32_t kMostCodeShift = 15;
  if (converter.min() < kLeast || converter.max() > kMost ||
      converter.min() >= converter.max()) {
    return wrong("min is not below max, or one has more than 16 bits",
                 "min, max");
  }
  if (converter.max_gain() < 1) return wrong("max_gain is below 1", "max_gain");
  if (converter.max_shift() < 0 || converter.max_shift() > kMostCodeShift) {
    return wrong(absl::StrCat("max_shift is not 0 to ", kMostCodeShift),
                 "max_shift");
  }
  if (numerics.roundings_size() == 1 && numerics.roundings(0) == v1::FLOOR) {
    return absl::OkStatus();
  }
  return Invalid(pattern, "roundings of a converter is FLOOR alone",
                 "numerics: roundings", "roundings: FLOOR");
}

// Of the results of shifts, and of the operands of additions.
absl::Status CheckScales(const v1::OpPattern& pattern) {
  const v1::Numerics& numerics = pattern.numerics();
  if (numerics.one_input_scale() &&
      !AnyOp(pattern, [](OpCase op) { return op == OpCase::kAdd; })) {
    return Invalid(pattern, "one_input_scale is given, but no op is an add",
                   "numerics: one_input_scale", "remove it");
  }
  if (numerics.largest_shift() == 0) return absl::OkStatus();
  const char* const kKey = "numerics: largest_shift";
  if (numerics.requantization() != v1::Numerics::SHIFT) {
    return Invalid(pattern,
                   "largest_shift is given without requantization: SHIFT", kKey,
                   "remove it");
  }
  if (numerics.largest_shift() < 0 || numerics.largest_shift() > kMostShift) {
    return Invalid(
        pattern, absl::StrCat("largest_shift is ", numerics.largest_shift()),
        kKey,
        absl::StrCat("1 to ", kMostShift, "; without it, any power of two"));
  }
  return absl::OkStatus();
}

absl::Status CheckRequantization(const v1::OpPattern& pattern) {
  const v1::Numerics& numerics = pattern.numerics();
  const char* const kKey = "numerics: requantization";
  const bool given =
      numerics.requantization() != v1::Numerics::REQUANTIZATION_UNSPECIFIED;
  if (!v1::Numerics::Requantization_IsValid(numerics.requantization()) ||
      (!given && AnyOp(pattern, Requantizes))) {
    return Invalid(pattern, "requantization is missing or unknown", kKey,
                   "MULTIPLIER_AND_SHIFT, SHIFT, ADC or NOT_REQUANTIZED");
  }
  if (given && AllOps(pattern, KeepsQuantization)) {
    return Invalid(pattern,
                   "requantization is given, but the ops keep the quantization "
                   "of their input",
                   kKey, "remove it");
  }
  if (numerics.requantization() == v1::Numerics::NOT_REQUANTIZED &&
      (pattern.ops_size() != 1 || !HasWeights(*FindOp(pattern.ops(0))))) {
    return Invalid(pattern,
                   "sums that are not requantized are those of one op with "
                   "weights",
                   kKey, "MULTIPLIER_AND_SHIFT or SHIFT");
  }
  if (numerics.requantization() == v1::Numerics::ADC &&
      !AllOps(pattern,
              [](OpCase op) { return Floors(op) && op != OpCase::kAdd; })) {
    return Invalid(pattern, "requantization: ADC is of sums of products", kKey,
                   "MULTIPLIER_AND_SHIFT or SHIFT");
  }
  return CheckConverter(pattern);
}

absl::Status CheckAccumulator(const v1::OpPattern& pattern) {
  const int32_t bits = pattern.numerics().accumulator_bits();
  const char* const kKey = "numerics: accumulator_bits";
  if (!AnyOp(pattern, HasSums)) {
    if (bits == 0) return absl::OkStatus();
    return Invalid(pattern,
                   "accumulator_bits is given, but the ops have no "
                   "sums of products or windows",
                   kKey, "remove it");
  }
  if (bits >= kMinAccumulatorBits && bits <= kMaxAccumulatorBits) {
    return absl::OkStatus();
  }
  return Invalid(
      pattern,
      absl::StrCat("accumulator_bits is ",
                   bits == 0 ? "missing" : absl::StrCat(bits)),
      kKey, absl::StrCat(kMinAccumulatorBits, " to ", kMaxAccumulatorBits));
}

absl::Status CheckRoundings(const v1::OpPattern& pattern) {
  const v1::Numerics& numerics = pattern.numerics();
  const char* const kKey = "numerics: roundings";
  if (numerics.requantization() == v1::Numerics::NOT_REQUANTIZED) {
    if (numerics.roundings().empty()) return absl::OkStatus();
    return Invalid(pattern, "roundings is given, but sums are not rounded",
                   kKey, "remove it");
  }
  const bool floors = std::count(numerics.roundings().begin(),
                                 numerics.roundings().end(), v1::FLOOR) > 0;
  if (floors && !AllOps(pattern, Floors)) {
    return Invalid(pattern, "FLOOR is no rounding of all of the ops", kKey,
                   "HALF_UP, HALF_EVEN or both");
  }
  if (!numerics.roundings().empty() &&
      AreDistinct(numerics.roundings(), v1::Rounding_IsValid)) {
    return absl::OkStatus();
  }
  return Invalid(pattern,
                 "roundings is missing, or one is unknown or occurs twice",
                 kKey, "HALF_UP, HALF_EVEN, FLOOR or several");
}

absl::Status CheckNumerics(const v1::OpPattern& pattern) {
  const v1::Numerics& numerics = pattern.numerics();
  if (!pattern.has_numerics()) {
    return Invalid(pattern, "numerics is missing", "numerics",
                   "numerics { activations: INT8 .. }");
  }
  if (numerics.activations().empty() ||
      !AreDistinct(numerics.activations(), IsElementType)) {
    return Invalid(pattern,
                   "activations is missing, or a type is unknown or occurs "
                   "twice",
                   "numerics: activations", "activations: INT8");
  }
  EK_RETURN_IF_ERROR(CheckRequantization(pattern));
  EK_RETURN_IF_ERROR(CheckScales(pattern));
  EK_RETURN_IF_ERROR(CheckRoundings(pattern));
  EK_RETURN_IF_ERROR(CheckWeights(pattern));
  return CheckAccumulator(pattern);
}

}  // namespace

absl::Status ValidatePatternOps(const v1::OpPattern& pattern) {
  EK_RETURN_IF_ERROR(CheckOps(pattern));
  if (pattern.where_size() > kMaxConditions) {
    return Invalid(pattern, "too many conditions", "where",
                   absl::StrCat("up to ", kMaxConditions));
  }
  EK_RETURN_IF_ERROR(CheckKernelPadding(pattern));
  EK_RETURN_IF_ERROR(CheckPhases(pattern));
  return CheckNumerics(pattern);
}

absl::Status ValidateResolvedPattern(const v1::OpPattern& pattern) {
  EK_RETURN_IF_ERROR(ValidatePatternOps(pattern));
  EK_RETURN_IF_ERROR(PatternConditions::Compile(pattern).status());
  if (pattern.phases_expr().empty()) return absl::OkStatus();
  return Annotate(
      Expression::Compile(pattern.phases_expr(), {}, OpVariableNames())
          .status(),
      absl::StrCat("patterns ", ChainName(pattern), ": phases_expr"));
}

}  // namespace edgekiln::target
