#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "ops/dot_output.h"
#include "ops/fixed_point.h"
#include "ops/kernels.h"
#include "ops/lstm_steps.h"
#include "ops/quantized_parameters.h"

// TensorFlow Lite's integer LSTM: int8 activations and weights, gates of int16
// in steps of 2^-12 before and 2^-15 after their functions, cells of int16 in
// steps of a power of two. Its factors are floats.
namespace edgekiln::ops {
namespace {

constexpr int kGates = 4;
constexpr int kHiddenIntermediate = 4;

constexpr float kGateScale = 0x1p-12f;
constexpr double kActiveScale = 0x1p-15;

float ScaleOf(const TensorView& tensor, int64_t row) {
  const QuantizationView& q = tensor.quantization;
  return q.scale[q.per_channel() ? row : 0];
}

// The scale of a gate's sums, by row of its matrices.
class GateScales {
 public:
  GateScales(const v1::Lstm& op, Inputs inputs)
      : op_(op),
        units_(inputs[6].shape[1]),
        normalised_(InputOr(inputs, 10).present()) {}

  float operator()(int64_t row) const {
    if (!normalised_) return kGateScale;
    return op_.intermediate(static_cast<int>(row / units_)).scale(0);
  }

 private:
  const v1::Lstm& op_;
  const int64_t units_;
  const bool normalised_;
};

// A matrix of int8 whose rows are multiplied by vectors of int8, and how their
// sums are rescaled.
class IntegerMatrix {
 public:
  // `to`: the scale of the results of each row.
  template <typename To>
  IntegerMatrix(const TensorView& w, const QuantizationView& x, const To& to)
      : weights_(w.as<int8_t>()), depth_(w.shape[1]), zero_(x.zero_point[0]) {
    for (int64_t row = 0; row < w.shape[0]; ++row) {
      const float factor = ScaleOf(w, row) * x.scale[0] / to(row);
      factors_.push_back(QuantizeMultiplier(double{factor}));
    }
  }

  int64_t depth() const { return depth_; }

  int64_t Times(int64_t row, const int8_t* x, const int32_t* bias) const {
    const int8_t* w = weights_ + row * depth_;
    auto sum = static_cast<uint32_t>(bias == nullptr ? 0 : bias[row]);
    for (int64_t k = 0; k < depth_; ++k) {
      sum += static_cast<uint32_t>((x[k] - zero_) * w[k]);
    }
    return Rescale(static_cast<int32_t>(sum), factors_[row]);
  }

 private:
  const int8_t* const weights_;
  const int64_t depth_;
  const int32_t zero_;
  std::vector<FixedPointMultiplier> factors_;
};

// Layer normalization of one gate: zero mean and unit variance, times weights,
// plus bias, in steps of kGateScale.
class IntegerNorm {
 public:
  IntegerNorm(const TensorView& weights, const TensorView& bias, int64_t first,
              int64_t count)
      : weights_(weights.as<int16_t>() + first),
        bias_(bias.present() ? bias.as<int32_t>() + first : nullptr),
        count_(count),
        factor_(QuantizeMultiplier(double{ScaleOf(weights, first)})),
        least_variance_(
            std::max(1, static_cast<int32_t>(std::min(
                            10000 * ScaleOf(weights, first), 0x1p30f)))) {
    factor_.shift = std::min(factor_.shift + 12, 30);
  }

  void operator()(GateValues& values) const {
    if (values.empty()) return;
    int64_t sum = 0, squares = 0;
    for (const int64_t value : values) {
      sum += value;
      squares += value * value;
    }
    // Steps of 2^-10 and 2^-20.
    const int64_t mean = sum * 1024 / count_;
    const int64_t variance =
        (squares * ((1 << 20) / count_) - mean * mean) / (1 << 20);
    const FixedPointMultiplier inverse = FixedInverseSqrt(
        variance < 1 ? least_variance_ : static_cast<int32_t>(variance));
    for (int64_t i = 0; i < count_; ++i) {
      const auto centered = static_cast<int32_t>(1024 * values[i] - mean);
      const int64_t weighted =
          int64_t{Rescale(centered, inverse)} * weights_[i] +
          (bias_ == nullptr ? 0 : bias_[i]);
      const int64_t steps = (weighted + (weighted > 0 ? 512 : -512)) / 1024;
      values[i] =
          SaturatedTo<int16_t>(Rescale(SaturatedTo<int32_t>(steps), factor_));
    }
  }

 private:
  const int16_t* const weights_;
  const int32_t* const bias_;
  const int64_t count_;
  FixedPointMultiplier factor_;
  const int32_t least_variance_;
};

class IntegerStep {
 public:
  IntegerStep(const v1::Lstm& op, Inputs inputs)
      : op_(op),
        hidden_(inputs[6].shape[1]),
        outputs_(inputs[5].shape[1]),
        state_zero_(inputs[5].quantization.zero_point[0]),
        bias_(InputOr(inputs, 3)),
        peephole_(InputOr(inputs, 7)),
        projection_bias_(InputOr(inputs, 9)),
        from_input_(inputs[1], inputs[0].quantization, GateScales(op, inputs)),
        from_state_(inputs[2], inputs[5].quantization, GateScales(op, inputs)) {
    const float cell_scale = inputs[6].quantization.scale[0];
    IsPowerOfTwo(cell_scale, cell_exponent_);
    cell_clip_ =
        static_cast<int16_t>(std::min(op.cell_clip() / cell_scale, 32767.0f));
    SetPeepholes(inputs);
    SetHidden(inputs);
    if (const TensorView norm = InputOr(inputs, 10); norm.present()) {
      for (int gate = 0; gate < kGates; ++gate) {
        norms_.emplace_back(norm, bias_, gate * hidden_, hidden_);
      }
    }
  }

  // Replaces state and cell.
  void operator()(const int8_t* x, int8_t* state, int16_t* cell) const {
    const auto activated = [&](LstmGate gate) {
      return Activated(gate, x, state, cell);
    };
    const auto [in, forget] = InputAndForget(op_.coupling(), activated);
    const GateValues fresh = activated(kCell);
    for (int64_t u = 0; u < hidden_; ++u) {
      const int64_t kept = HalfAwayShift(int64_t{forget[u]} * cell[u], 15);
      const int64_t added =
          HalfAwayShift(int64_t{in[u]} * fresh[u], 30 + cell_exponent_);
      cell[u] = SaturatedTo<int16_t>(kept + added);
      if (cell_clip_ > 0) {
        cell[u] =
            std::clamp(cell[u], static_cast<int16_t>(-cell_clip_), cell_clip_);
      }
    }
    const GateValues out = activated(kOutput);
    std::vector<int8_t> hidden;
    for (int64_t u = 0; u < hidden_; ++u) {
      const int32_t product = out[u] * FixedTanh(cell[u], 15 + cell_exponent_);
      hidden.push_back(static_cast<int8_t>(
          Finish(product, hidden_factor_, hidden_zero_, {-128, 127})));
    }
    Project(hidden, state);
  }

 private:
  void SetPeepholes(Inputs inputs) {
    if (!peephole_.present()) return;
    const GateScales scale(op_, inputs);
    for (int64_t row = 0; row < 3 * hidden_; ++row) {
      const auto factor = static_cast<float>(
          std::ldexp(double{ScaleOf(peephole_, row)}, cell_exponent_) /
          double{scale(row)});
      peephole_factors_.push_back(QuantizeMultiplier(double{factor}));
    }
  }

  // The hidden state before its projection, which is the state without one.
  void SetHidden(Inputs inputs) {
    const QuantizationView& state = inputs[5].quantization;
    float scale = state.scale[0];
    hidden_zero_ = state_zero_;
    if (op_.intermediate_size() > kHiddenIntermediate &&
        op_.intermediate(kHiddenIntermediate).scale_size() > 0) {
      const v1::Quantization& stated = op_.intermediate(kHiddenIntermediate);
      scale = stated.scale(0);
      hidden_zero_ = stated.zero_point(0);
    }
    const auto factor =
        static_cast<float>(kActiveScale / double{scale} * kActiveScale);
    hidden_factor_ = QuantizeMultiplier(double{factor});
    const TensorView projection = InputOr(inputs, 8);
    if (!projection.present()) return;
    hidden_scale_ = scale;
    const QuantizationView hidden = {absl::MakeConstSpan(&hidden_scale_, 1),
                                     absl::MakeConstSpan(&hidden_zero_, 1), 0};
    projection_.emplace(projection, hidden,
                        [&](int64_t) { return state.scale[0]; });
    projection_clip_ = static_cast<int8_t>(
        std::min(op_.projection_clip() / state.scale[0], 127.0f));
  }

  // A gate before its function.
  GateValues Sums(LstmGate gate, const int8_t* x, const int8_t* state,
                  const int16_t* cell) const {
    // With normalization the bias comes after it.
    const int32_t* bias = norms_.empty() ? bias_.as<int32_t>() : nullptr;
    GateValues sums;
    for (int64_t u = 0; u < hidden_; ++u) {
      const int64_t row = gate * hidden_ + u;
      auto sum = SaturatedTo<int16_t>(from_input_.Times(row, x, bias));
      sum = SaturatedTo<int16_t>(sum + from_state_.Times(row, state, nullptr));
      // TensorFlow Lite leaves out the units that are no outputs.
      if (gate != kCell && peephole_.present() && u < outputs_) {
        const int32_t product = peephole_.as<int16_t>()[row] * cell[u];
        sum = SaturatedTo<int16_t>(int64_t{sum} +
                                   Rescale(product, peephole_factors_[row]));
      }
      sums.push_back(sum);
    }
    if (!norms_.empty()) norms_[gate](sums);
    return sums;
  }

  GateValues Activated(LstmGate gate, const int8_t* x, const int8_t* state,
                       const int16_t* cell) const {
    GateValues values = Sums(gate, x, state, cell);
    for (int16_t& value : values) {
      value = gate == kCell ? FixedTanh(value, 3) : FixedSigmoid(value, 3);
    }
    return values;
  }

  void Project(const std::vector<int8_t>& hidden, int8_t* state) const {
    if (!projection_.has_value()) {
      std::copy(hidden.begin(), hidden.end(), state);
      return;
    }
    for (int64_t i = 0; i < outputs_; ++i) {
      const int64_t value =
          projection_->Times(i, hidden.data(), projection_bias_.as<int32_t>()) +
          state_zero_;
      state[i] = SaturatedTo<int8_t>(value);
      if (projection_clip_ > 0) {
        state[i] = std::clamp(state[i], static_cast<int8_t>(-projection_clip_),
                              projection_clip_);
      }
    }
  }

  const v1::Lstm& op_;
  const int64_t hidden_, outputs_;
  const int32_t state_zero_;
  const TensorView bias_;
  const TensorView peephole_;
  const TensorView projection_bias_;
  const IntegerMatrix from_input_, from_state_;
  int cell_exponent_ = 0;
  std::vector<FixedPointMultiplier> peephole_factors_;
  std::vector<IntegerNorm> norms_;  // None, or one per gate.
  float hidden_scale_ = 0;
  int32_t hidden_zero_ = 0;
  FixedPointMultiplier hidden_factor_;
  std::optional<IntegerMatrix> projection_;
  int16_t cell_clip_ = 0;
  int8_t projection_clip_ = 0;
};

}  // namespace

absl::Status LstmInteger(const v1::Lstm& op, Inputs inputs, Outputs outputs) {
  RunIntegerLstm<int8_t>(op, inputs, outputs, IntegerStep(op, inputs));
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
