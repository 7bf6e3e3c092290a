#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/cell.h"
#include "ops/dot_output.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"
#include "ops/real_math.h"

// TensorFlow Lite's integer LSTM: int8 activations and weights, gates of int16
// in steps of 2^-12 before and 2^-15 after their functions, cells of int16.
namespace edgekiln::ops {
namespace {

enum Gate { kInput = 0, kOutput = 1, kForget = 2, kCell = 3 };

constexpr double kGateScale = 0x1p-12;
constexpr double kActiveScale = 0x1p-15;

int16_t Saturated(int64_t value) {
  return static_cast<int16_t>(std::clamp<int64_t>(value, -32768, 32767));
}

// A real number in [-1, 1] in steps of 2^-15, half away from zero.
int16_t Active(double value) {
  return Saturated(static_cast<int64_t>(std::round(value / kActiveScale)));
}

class IntegerLstm {
 public:
  IntegerLstm(const v1::Lstm& op, Inputs inputs)
      : op_(op),
        steps_(inputs[0].shape[0]),
        batch_(inputs[0].shape[1]),
        input_(inputs[0].shape[2]),
        hidden_(inputs[6].shape[1]),
        input_zero_(inputs[0].quantization.zero_point[0]),
        state_zero_(inputs[5].quantization.zero_point[0]),
        cell_scale_(inputs[6].quantization.scale[0]),
        lengths_(InputOr(inputs, 4)),
        state_(inputs[5].as<int8_t>(),
               inputs[5].as<int8_t>() + batch_ * hidden_),
        cell_(inputs[6].as<int16_t>(),
              inputs[6].as<int16_t>() + batch_ * hidden_),
        input_factor_(Factors(inputs[0], inputs[1])),
        state_factor_(Factors(inputs[5], inputs[2])) {
    const double fresh_scale = kActiveScale * kActiveScale;
    kept_factor_ = QuantizeMultiplier(kActiveScale);
    fresh_factor_ = QuantizeMultiplier(fresh_scale / cell_scale_);
    hidden_factor_ = QuantizeMultiplier(
        fresh_scale / double{inputs[5].quantization.scale[0]});
    const double clip = double{op.cell_clip()} / cell_scale_;
    cell_clip_ = static_cast<int16_t>(std::min(clip, 32767.0));
  }

  void Run(Inputs inputs, Outputs outputs) {
    auto* all = outputs[0].as<int8_t>();
    std::fill_n(all, steps_ * batch_ * hidden_,
                static_cast<int8_t>(state_zero_));
    for (int64_t i = 0; i < steps_; ++i) {
      const int64_t t = op_.reverse() ? steps_ - 1 - i : i;
      for (int64_t n = 0; n < batch_; ++n) {
        if (t >= LengthOf(lengths_, n, steps_)) continue;
        const int64_t at = t * batch_ + n;
        Step(inputs, inputs[0].as<int8_t>() + at * input_, n);
        std::copy_n(state_.data() + n * hidden_, hidden_, all + at * hidden_);
      }
    }
    if (outputs.size() > 1) {
      std::copy(state_.begin(), state_.end(), outputs[1].as<int8_t>());
    }
    if (outputs.size() > 2) {
      std::copy(cell_.begin(), cell_.end(), outputs[2].as<int16_t>());
    }
  }

 private:
  // One per row of `w`: to steps of 2^-12.
  static std::vector<FixedPointMultiplier> Factors(const TensorView& x,
                                                   const TensorView& w) {
    std::vector<FixedPointMultiplier> factors;
    for (int64_t row = 0; row < w.shape[0]; ++row) {
      const double scale =
          w.quantization.scale[w.quantization.per_channel() ? row : 0];
      factors.push_back(QuantizeMultiplier(double{x.quantization.scale[0]} *
                                           scale / kGateScale));
    }
    return factors;
  }

  static int32_t Dot(const int8_t* x, int32_t zero, const int8_t* w,
                     int64_t count, int32_t bias) {
    auto sum = static_cast<uint32_t>(bias);
    for (int64_t k = 0; k < count; ++k) {
      sum += static_cast<uint32_t>((x[k] - zero) * w[k]);
    }
    return static_cast<int32_t>(sum);
  }

  // The gate's value before its function.
  int16_t Sum(Inputs inputs, const int8_t* x, const int8_t* state,
              int64_t row) const {
    const int32_t* bias = InputOr(inputs, 3).as<int32_t>();
    const int32_t from_input =
        Dot(x, input_zero_, inputs[1].as<int8_t>() + row * input_, input_,
            bias == nullptr ? 0 : bias[row]);
    const int32_t from_state = Dot(
        state, state_zero_, inputs[2].as<int8_t>() + row * hidden_, hidden_, 0);
    return Saturated(
        int64_t{Saturated(Rescale(from_input, input_factor_[row]))} +
        Saturated(Rescale(from_state, state_factor_[row])));
  }

  int16_t Activated(Inputs inputs, const int8_t* x, const int8_t* state,
                    Gate gate, int64_t unit) const {
    const double sum =
        kGateScale * Sum(inputs, x, state, gate * hidden_ + unit);
    return Active(gate == kCell ? Tanh(sum) : Sigmoid(sum));
  }

  void Step(Inputs inputs, const int8_t* x, int64_t n) {
    const std::vector<int8_t> before(state_.begin() + n * hidden_,
                                     state_.begin() + (n + 1) * hidden_);
    for (int64_t u = 0; u < hidden_; ++u) {
      const auto gate = [&](Gate g) {
        return int64_t{Activated(inputs, x, before.data(), g, u)};
      };
      const bool from_input = op_.coupling() == v1::Lstm::FORGET_FROM_INPUT;
      const bool from_forget = op_.coupling() == v1::Lstm::INPUT_FROM_FORGET;
      int64_t in = from_forget ? 0 : gate(kInput);
      const int64_t forget = from_input ? 32767 - in : gate(kForget);
      if (from_forget) in = 32767 - forget;
      int16_t& cell = cell_[n * hidden_ + u];
      const int64_t kept =
          Saturated(Rescale(static_cast<int32_t>(forget * cell), kept_factor_));
      const int64_t fresh = Saturated(
          Rescale(static_cast<int32_t>(in * gate(kCell)), fresh_factor_));
      cell = Saturated(kept + fresh);
      if (cell_clip_ > 0) {
        cell = std::clamp(cell, static_cast<int16_t>(-cell_clip_), cell_clip_);
      }
      const int64_t output = gate(kOutput) * Active(Tanh(cell_scale_ * cell));
      state_[n * hidden_ + u] =
          static_cast<int8_t>(Finish(static_cast<int32_t>(output),
                                     hidden_factor_, state_zero_, {-128, 127}));
    }
  }

  const v1::Lstm& op_;
  const int64_t steps_, batch_, input_, hidden_;
  const int32_t input_zero_, state_zero_;
  const double cell_scale_;
  const TensorView lengths_;
  std::vector<int8_t> state_;
  std::vector<int16_t> cell_;
  const std::vector<FixedPointMultiplier> input_factor_, state_factor_;
  FixedPointMultiplier kept_factor_, fresh_factor_, hidden_factor_;
  int16_t cell_clip_ = 0;
};

}  // namespace

absl::Status LstmInteger(const v1::Lstm& op, Inputs inputs, Outputs outputs) {
  IntegerLstm(op, inputs).Run(inputs, outputs);
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
