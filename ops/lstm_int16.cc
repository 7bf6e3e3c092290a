#include <algorithm>
#include <vector>

#include "ops/dot_output.h"
#include "ops/fixed_point.h"
#include "ops/kernels.h"
#include "ops/lstm_steps.h"
#include "ops/quantized_parameters.h"
#include "ops/squash_table.h"

// TensorFlow Lite's LSTM of int16 activations, int8 weights and int64 biases:
// gates in steps of 2^-12 before and 2^-15 after their functions, which are
// those of a table.
namespace edgekiln::ops {
namespace {

constexpr double kGateScale = 0x1p-12;
constexpr double kActiveScale = 0x1p-15;
constexpr QuantizedRange kInt16 = {-32768, 32767};

class Int16Step {
 public:
  Int16Step(const v1::Lstm& op, Inputs inputs)
      : op_(op),
        input_(inputs[0].shape[2]),
        hidden_(inputs[6].shape[1]),
        w_(inputs[1].as<int8_t>()),
        r_(inputs[2].as<int8_t>()),
        bias_(InputOr(inputs, 3).as<int64_t>()),
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

  // Replaces state and cell.
  void operator()(const int16_t* x, int16_t* state, int16_t* cell) const {
    const auto activated = [&](LstmGate gate) {
      return Activated(gate, x, state);
    };
    const auto [in, forget] = InputAndForget(op_.coupling(), activated);
    const GateValues fresh = activated(kCell);
    const GateValues out = activated(kOutput);
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

  GateValues Activated(LstmGate gate, const int16_t* x,
                       const int16_t* state) const {
    GateValues values;
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

  const v1::Lstm& op_;
  const int64_t input_, hidden_;
  const int8_t* const w_;
  const int8_t* const r_;
  const int64_t* const bias_;
  const std::vector<FixedPointMultiplier> input_factor_, state_factor_;
  FixedPointMultiplier kept_factor_, fresh_factor_, hidden_factor_;
  const SquashTable table_;
  int cell_exponent_ = 0;
  int16_t cell_clip_ = 0;
};

}  // namespace

absl::Status LstmInt16(const v1::Lstm& op, Inputs inputs, Outputs outputs) {
  RunIntegerLstm<int16_t>(op, inputs, outputs, Int16Step(op, inputs));
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
