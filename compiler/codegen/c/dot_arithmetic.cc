#include "compiler/codegen/c/dot_arithmetic.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "base/status_macros.h"
#include "compiler/codegen/c/emit_common.h"

namespace edgekiln::compiler {
namespace {

bool IsWide(const StepWriter& w) { return w.In(0).type == v1::INT16; }

// int16 activations take one zero point of weights but for depthwise; int8
// weights have none anyway.
std::vector<int32_t> WeightZeros(const StepWriter& w, int64_t channels) {
  const ops::QuantizationView q = w.InQuantization(1);
  const bool each =
      q.per_channel() && (!IsWide(w) || w.op().has_depthwise_conv2d());
  std::vector<int32_t> zeros(static_cast<size_t>(channels), q.zero_point[0]);
  if (each) zeros.assign(q.zero_point.begin(), q.zero_point.end());
  return zeros;
}

// Whether int32 holds all sums of products of int16 inputs, whatever these are.
// The bias is added later, modulo 2^32 where results depend on it so.
bool SumsFitInt32(const StepWriter& w, int64_t channels) {
  const v1::OpAttributes& op = w.op();
  const bool channels_last = op.has_depthwise_conv2d();
  const bool is_layer =
      channels_last || op.has_conv2d() || op.has_fully_connected();
  const Tensor& weights = w.In(1);
  if (!is_layer || !weights.is_constant() || weights.type != v1::INT8 ||
      channels == 0) {
    return false;
  }
  const int64_t zero = w.InQuantization(0).zero_point[0];
  const int64_t largest = int64_t{1} << 15;
  const int64_t most =
      std::numeric_limits<int32_t>::max() / (largest + std::abs(zero));
  const std::vector<int32_t> zeros = WeightZeros(w, channels);
  std::vector<int64_t> magnitudes(static_cast<size_t>(channels), 0);
  const auto* values = reinterpret_cast<const int8_t*>(weights.data->data());
  const int64_t count = weights.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t c = channels_last ? i % channels : i / (count / channels);
    magnitudes[c] += std::abs(int64_t{values[i]} - zeros[c]);
  }
  return std::all_of(magnitudes.begin(), magnitudes.end(),
                     [&](int64_t sum) { return sum <= most; });
}

}  // namespace

absl::StatusOr<DotArithmetic> DotArithmetic::Of(StepWriter& w,
                                                const v1::Clamp& clamp,
                                                int64_t channels) {
  DotArithmetic dot(w, clamp);
  const v1::ElementType type = w.In(0).type;
  if (IsFloat(type) || type == v1::INT32) return dot;
  dot.quantized_ = true;
  dot.wide_sums_ = IsWide(w) && !SumsFitInt32(w, channels);
  if (w.Out(0).type == v1::INT32) {
    EK_ASSIGN_OR_RETURN(dot.parameters_, ops::AccumulatorParameters(
                                             w.InQuantization(0),
                                             w.InQuantization(1), channels));
    dot.parameters_.multiplier.resize(static_cast<size_t>(channels));
  } else {
    EK_ASSIGN_OR_RETURN(
        dot.parameters_,
        ops::DotParameters(clamp, w.op().rounding(), w.InQuantization(0),
                           w.InQuantization(1), w.OutQuantization(0),
                           w.Out(0).type, channels));
  }
  return dot;
}

void DotArithmetic::Prepare(const std::string& channel) {
  if (!quantized_) return;
  const auto channels = std::ssize(parameters_.multiplier);
  weight_zero_ = PerChannel(w_, v1::INT32, WeightZeros(w_, channels), channel);
  if (w_.Out(0).type == v1::INT32) return;
  std::vector<int32_t> multipliers;
  std::vector<uint8_t> shifts;
  const bool narrow = w_.Has(2) && w_.In(2).type == v1::INT32;
  for (const ops::FixedPointMultiplier& factor : parameters_.multiplier) {
    if (IsWide(w_) && !narrow) {
      multipliers.push_back(factor.multiplier < 0x7FFF0000
                                ? (factor.multiplier + (1 << 15)) >> 16
                                : 0x7FFF);
      shifts.push_back(static_cast<uint8_t>(15 - std::min(factor.shift, 14)));
    } else {
      multipliers.push_back(factor.multiplier);
      shifts.push_back(static_cast<uint8_t>(31 - factor.shift));
    }
  }
  multiplier_ = PerChannel(w_, v1::INT32, multipliers, channel);
  shift_ = PerChannel(w_, v1::UINT8, shifts, channel);
}

std::string DotArithmetic::sum_type() const {
  const v1::ElementType type = w_.In(0).type;
  if (IsFloat(type)) return std::string(CTypeOf(type));
  if (wide_sums_) return "int64_t";
  return type == v1::INT32 ? "uint32_t" : "int32_t";
}

std::string DotArithmetic::AddProduct(const std::string& sum,
                                      const std::string& x,
                                      const std::string& w) const {
  if (!quantized_) {
    if (IsFloat(w_.In(0).type))
      return absl::StrCat(sum, " += ", x, " * ", w, ";");
    return absl::StrCat(sum, " += (uint32_t)", x, " * (uint32_t)", w, ";");
  }
  const auto less = [](const std::string& value, const std::string& zero) {
    if (zero == "0") return value;
    return absl::StrCat("(", value, " - ", zero[0] == '-' ? "(" : "", zero,
                        zero[0] == '-' ? ")" : "", ")");
  };
  const std::string product =
      absl::StrCat(less(x, CInteger(parameters_.input_zero_point)), " * ",
                   less(w, weight_zero_));
  return absl::StrCat(sum, " += ", wide_sums_ ? "(int64_t)" : "", product, ";");
}

std::string DotArithmetic::AddPadding(const std::string& sum,
                                      const std::string& w) const {
  // Constants are finite: nothing is added. Other weights may be infinite, and
  // 0 times infinity is no number.
  if (!IsFloat(w_.In(0).type) || w_.In(1).is_constant()) return "";
  return absl::StrCat(sum, " += ", CReal(w_.In(0).type, 0), " * ", w, ";");
}

std::string DotArithmetic::Biased(const std::string& sum,
                                  const std::string& channel) {
  if (!w_.Has(2)) return absl::StrCat("(int32_t)", sum);
  return absl::StrCat("(int32_t)((uint32_t)", sum, " + (uint32_t)", w_.X(2),
                      "[", channel, "])");
}

void DotArithmetic::FinishReal(const std::string& sum,
                               const std::string& channel,
                               const std::string& at) {
  if (w_.Has(2)) {
    w_.code().Line(sum, " = ", sum, " + ", w_.X(2), "[", channel, "];");
  }
  EmitRealClamp(w_, w_.In(0).type, clamp_, sum);
  w_.code().Line(w_.Y(0), "[", at, "] = ", sum, ";");
}

void DotArithmetic::FinishSteps(const std::string& sum,
                                const std::string& channel,
                                const std::string& at) {
  const ops::QuantizedRange& range = parameters_.clamp;
  const v1::Rounding rounding = parameters_.multiplier[0].rounding;
  const std::string tail =
      absl::StrCat(parameters_.output_zero_point, ", ", CInteger(range.min),
                   ", ", CInteger(range.max), ")");
  const std::string type(CTypeOf(w_.Out(0).type));
  const std::string to = absl::StrCat(w_.Y(0), "[", at, "] = (", type, ")");
  const bool narrow = w_.Has(2) && w_.In(2).type == v1::INT32;
  if (!IsWide(w_) || narrow) {
    w_.code().Line(to, w_.Use(FinishName(rounding)), "(", Biased(sum, channel),
                   ", ", multiplier_, ", ", shift_, ", ", tail, ";");
    return;
  }
  // int32 sums keep their sign.
  const std::string biased =
      w_.Has(2) ? absl::StrCat("((uint64_t)", sum, " + (uint64_t)", w_.X(2),
                               "[", channel, "])")
                : absl::StrCat("(uint64_t)", sum);
  const std::string round = rounding == v1::HALF_EVEN ? "round_even"
                            : rounding == v1::FLOOR   ? "round_floor"
                                                      : "round_up";
  w_.code().Line("const int64_t scaled = ", w_.Use(round), "((int64_t)(",
                 biased, " * (uint64_t)", multiplier_, "), ", shift_, ");");
  w_.code().Line(to, w_.Use("limit"),
                 "((int64_t)((uint64_t)scaled + (uint64_t)(",
                 parameters_.output_zero_point, ")), ", CInteger(range.min),
                 ", ", CInteger(range.max), ");");
}

void DotArithmetic::Finish(const std::string& sum, const std::string& channel,
                           const std::string& at) {
  if (IsFloat(w_.In(0).type)) return FinishReal(sum, channel, at);
  if (w_.Out(0).type == v1::INT32) {
    w_.code().Line(w_.Y(0), "[", at, "] = ", Biased(sum, channel), ";");
    return;
  }
  FinishSteps(sum, channel, at);
}

}  // namespace edgekiln::compiler
