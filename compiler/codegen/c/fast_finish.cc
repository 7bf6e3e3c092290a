#include "compiler/codegen/c/fast_finish.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/c/c_text.h"
#include "compiler/codegen/c/emit_common.h"

namespace edgekiln::compiler {
namespace {

// Zero point and rounding stay below 2^30 beside a product's upper half.
constexpr int kMostShift = 20;

template <typename T>
bool AllEqual(const std::vector<T>& values) {
  return std::all_of(values.begin(), values.end(),
                     [&](T value) { return value == values[0]; });
}

std::vector<int32_t> BiasOf(const StepWriter& w,
                            const std::vector<FastFinish::Weights>& weights) {
  const int64_t zero = w.InQuantization(0).zero_point[0];
  std::vector<int32_t> bias;
  for (size_t c = 0; c < weights.size(); ++c) {
    int32_t own = 0;
    if (w.Has(2)) {
      std::memcpy(&own, w.In(2).data->data() + 4 * c, sizeof(own));
    }
    const int64_t sum = weights[c].sum - weights[c].count * weights[c].zero;
    bias.push_back(static_cast<int32_t>(static_cast<uint32_t>(own) -
                                        static_cast<uint32_t>(zero * sum)));
  }
  return bias;
}

// Whether no sum of products on the way leaves int32.
bool StaysInside(const std::vector<int32_t>& bias,
                 const std::vector<FastFinish::Weights>& weights,
                 int64_t most_value) {
  for (size_t c = 0; c < bias.size(); ++c) {
    const int64_t most =
        std::abs(int64_t{bias[c]}) +
        most_value * (weights[c].magnitude +
                      weights[c].count * std::abs(weights[c].zero));
    if (most > std::numeric_limits<int32_t>::max()) return false;
  }
  return true;
}

}  // namespace

std::optional<FastFinish> FastFinish::Of(StepWriter& w, const v1::Clamp& clamp,
                                         const std::vector<Weights>& weights) {
  if (w.op().rounding() == v1::HALF_EVEN) return std::nullopt;
  if (w.Has(2) && !w.In(2).is_constant()) return std::nullopt;
  const auto parameters = ops::DotParameters(
      clamp, w.op().rounding(), w.InQuantization(0), w.InQuantization(1),
      w.OutQuantization(0), w.Out(0).type, std::ssize(weights));
  if (!parameters.ok()) return std::nullopt;
  std::vector<int32_t> multipliers;
  std::vector<uint8_t> shifts;
  for (const ops::FixedPointMultiplier& factor : parameters->multiplier) {
    const int n = 31 - factor.shift;
    if (n < 33 || n - 32 > kMostShift) return std::nullopt;
    multipliers.push_back(factor.multiplier);
    shifts.push_back(static_cast<uint8_t>(n - 32));
  }
  FastFinish finish(w);
  const std::vector<int32_t> bias = BiasOf(w, weights);
  finish.is_signed_ =
      StaysInside(bias, weights, w.In(0).type == v1::UINT8 ? 255 : 128);
  finish.one_bias_ = AllEqual(bias);
  finish.one_multiplier_ = AllEqual(multipliers);
  finish.one_shift_ = AllEqual(shifts);
  finish.bias_ =
      finish.one_bias_ ? CInteger(bias[0]) : w.Array(v1::INT32, bias);
  finish.multiplier_ = finish.one_multiplier_ ? CInteger(multipliers[0])
                                              : w.Array(v1::INT32, multipliers);
  finish.shift_ =
      finish.one_shift_ ? CInteger(shifts[0]) : w.Array(v1::UINT8, shifts);
  finish.twice_zero_ = 2 * int64_t{parameters->output_zero_point} +
                       (w.op().rounding() == v1::FLOOR ? 0 : 1);
  finish.range_ = parameters->clamp;
  return finish;
}

std::string FastFinish::Start(const std::string& o) const {
  return one_bias_ ? absl::StrCat(cast(), "(", bias_, ")")
                   : absl::StrCat(cast(), bias_, "[", o, "]");
}

void FastFinish::Declare(CodeWriter& code, const std::string& o,
                         int64_t j) const {
  const auto at = [&](const std::string& name, bool one) {
    return one ? name : absl::StrCat(name, "[", o, "]");
  };
  code.Line("const int32_t m", j, " = ", at(multiplier_, one_multiplier_), ";");
  code.Line("const int32_t shift", j, " = ", at(shift_, one_shift_), ";");
  code.Line("const int32_t r", j, " = (", twice_zero_, " * (1 << shift", j,
            ")) >> 1;");
}

void FastFinish::Store(CodeWriter& code, const std::string& to,
                       const std::string& sum, int64_t j) const {
  code.Line(to, " = (", CTypeOf(w_->Out(0).type), ")", w_->Use("clamp"), "((",
            w_->Use("mulh"), "((int32_t)", sum, ", m", j, ") + r", j,
            ") >> shift", j, ", ", range_.min, ", ", range_.max, ");");
}

}  // namespace edgekiln::compiler
