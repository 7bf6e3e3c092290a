#include "ops/lstm_int16.h"

#include <algorithm>
#include <vector>

#include "ops/approximated_unary.h"
#include "ops/cell.h"
#include "ops/dot_output.h"
#include "ops/fixed_point.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"
#include "ops/squash_table.h"

// TensorFlow Lite's LSTM of int16 activations, int8 weights and int64 biases:
// gates in steps of 2^-12 before and 2^-15 after their functions, which are
// those of a table.
namespace edgekiln::ops {
namespace {

enum Gate { kInput = 0, kOutput = 1, kForget = 2, kCell = 3 };

constexpr double kGateScale = 0x1p-12;
constexpr double kActiveScale = 0x1p-15;
constexpr QuantizedRange kInt16 = {-32768, 32767};

class Int16Lstm {
 public:
  Int16Lstm(const v1::Lstm& op, Inputs inputs)
      : op_(op),
        steps_(inputs[0].shape[0]),
        batch_(inputs[0].shape[1]),
        input_(inputs[0].shape[2]),
        hidden_(inputs[6].shape[1]),
        w_(inputs[1].as<int8_t>()),
        r_(inputs[2].as<int8_t>()),
        bias_(InputOr(inputs, 3).as<int64_t>()),
        lengths_(InputOr(inputs, 4)),
        state_(inputs[5].as<int16_t>(),
               inputs[5].as<int16_t>() + batch_ * hidden_),
        cell_(inputs[6].as<int16_t>(),
              inputs[6].as<int16_t>() + batch_ * hidden_),
        input_factor_(Factors(inputs[0], inputs[1])),
        state_factor_(Factors(inputs[5], inputs[2])) {
    const double cell_scale = inputs[6].quantization.scale[0];
    IsPowerOfTwo(inputs[6].quantization.scale[0], cell_exponent_);
    const double product = kActiveScale * kActiveScale;
    kept_factor_ = QuantizeMultiplier(kActiveScale);
    fresh_factor_ = QuantizeMultiplier(product / cell_scale);
    hidden_factor_ =
        QuantizeMultiplier(product / double{inputs[5].quantization.scale[0]});
    cell_clip_ = static_cast<int16_t>(
        std::min(double{op.cell_clip()} / cell_scale, 32767.0));
  }

  void Run(Inputs inputs, Outputs outputs) {
    auto* all = outputs[0].as<int16_t>();
    std::fill_n(all, steps_ * batch_ * hidden_, int16_t{0});
    for (int64_t i = 0; i < steps_; ++i) {
      const int64_t t = op_.reverse() ? steps_ - 1 - i : i;
      for (int64_t n = 0; n < batch_; ++n) {
        if (t >= LengthOf(lengths_, n, steps_)) continue;
        const int64_t at = t * batch_ + n;
        Step(inputs[0].as<int16_t>() + at * input_, state_.data() + n * hidden_,
             cell_.data() + n * hidden_);
        std::copy_n(state_.data() + n * hidden_, hidden_, all + at * hidden_);
      }
    }
    if (outputs.size() > 1) {
      std::copy(state_.begin(), state_.end(), outputs[1].as<int16_t>());
    }
    if (outputs.size() > 2) {
      std::copy(cell_.begin(), cell_.end(), outputs[2].as<int16_t>());
    }
  }

 private:
  // One per row of `w`; the product of the scales in float.
  static std::vector<FixedPointMultiplier> Factors(const TensorView& x,
                                                   const TensorView& w) {
    std::vector<FixedPointMultiplier> factors;
    const QuantizationView& q = w.quantization;
    for (int64_t row = 0; row < w.shape[0]; ++row) {
      const float product =
          x.quantization.scale[0] * q.scale[q.per_channel() ? row : 0];
      factors.push_back(QuantizeMultiplier(double{product} / kGateScale));
    }
    return factors;
  }

  static int16_t Sum(const int16_t* x, const int8_t* w, int64_t count,
                     int64_t bias, FixedPointMultiplier factor) {
    int64_t sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += x[k] * w[k];
    // Biases come from the file: any.
    sum = static_cast<int64_t>(static_cast<uint64_t>(sum) +
                               static_cast<uint64_t>(bias));
    return SaturatedTo<int16_t>(RescaleWide(sum, factor));
  }

  std::vector<int16_t> Activated(Gate gate, const int16_t* x,
                                 const int16_t* state) const {
    std::vector<int16_t> values;
    for (int64_t u = 0; u < hidden_; ++u) {
      const int64_t row = gate * hidden_ + u;
      const int64_t bias = bias_ == nullptr ? 0 : bias_[row];
      const int16_t sum = SaturatedTo<int16_t>(
          Sum(x, w_ + row * input_, input_, bias, input_factor_[row]) +
          Sum(state, r_ + row * hidden_, hidden_, 0, state_factor_[row]));
      values.push_back(gate == kCell ? table_.Tanh(3 * sum)
                                     : table_.Sigmoid(3 * sum));
    }
    return values;
  }

  // tanh of a cell.
  int16_t CellTanh(int16_t cell) const {
    const int left = cell_exponent_ + 12;
    if (left >= 0) return table_.Tanh(int64_t{cell} * (3 << left));
    return table_.Tanh((cell * 3 + (1 << (-left - 1))) >> -left);
  }

  static std::vector<int16_t> Rest(std::vector<int16_t> values) {
    for (int16_t& value : values) value = static_cast<int16_t>(32767 - value);
    return values;
  }

  void Step(const int16_t* x, int16_t* state, int16_t* cell) const {
    std::vector<int16_t> in, forget;
    if (op_.coupling() != v1::Lstm::FORGET_FROM_INPUT) {
      forget = Activated(kForget, x, state);
    }
    in = op_.coupling() == v1::Lstm::INPUT_FROM_FORGET
             ? Rest(forget)
             : Activated(kInput, x, state);
    if (forget.empty()) forget = Rest(in);
    const std::vector<int16_t> fresh = Activated(kCell, x, state);
    const std::vector<int16_t> out = Activated(kOutput, x, state);
    for (int64_t u = 0; u < hidden_; ++u) {
      const int32_t kept = Finish(forget[u] * cell[u], kept_factor_, 0, kInt16);
      const int32_t added = Finish(in[u] * fresh[u], fresh_factor_, 0, kInt16);
      cell[u] = SaturatedTo<int16_t>(kept + added);
      if (cell_clip_ > 0) {
        cell[u] =
            std::clamp(cell[u], static_cast<int16_t>(-cell_clip_), cell_clip_);
      }
      state[u] = static_cast<int16_t>(
          Finish(out[u] * CellTanh(cell[u]), hidden_factor_, 0, kInt16));
    }
  }

  const v1::Lstm& op_;
  const int64_t steps_, batch_, input_, hidden_;
  const int8_t* const w_;
  const int8_t* const r_;
  const int64_t* const bias_;
  const TensorView lengths_;
  std::vector<int16_t> state_, cell_;
  const std::vector<FixedPointMultiplier> input_factor_, state_factor_;
  FixedPointMultiplier kept_factor_, fresh_factor_, hidden_factor_;
  const SquashTable table_;
  int cell_exponent_ = 0;
  int16_t cell_clip_ = 0;
};

}  // namespace

absl::Status LstmInt16(const v1::Lstm& op, Inputs inputs, Outputs outputs) {
  Int16Lstm(op, inputs).Run(inputs, outputs);
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
