#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "ops/cell.h"
#include "ops/kernels.h"
#include "ops/lstm_steps.h"

namespace edgekiln::ops {
namespace {

constexpr double kLayerNormEpsilon = 1e-8;  // TensorFlow Lite's.

template <typename T>
class LstmKernel {
 public:
  LstmKernel(const v1::Lstm& op, Inputs inputs, CpuPath path)
      : op_(op),
        path_(path),
        f_(op.gate(), op.has_gate(), v1::Unary::SIGMOID),
        g_(op.cell(), op.has_cell(), v1::Unary::TANH),
        h_(op.hidden(), op.has_hidden(), v1::Unary::TANH),
        steps_(inputs[0].shape[0]),
        batch_(inputs[0].shape[1]),
        input_(inputs[0].shape[2]),
        hidden_(inputs[6].shape[1]),
        outputs_(inputs[5].shape[1]),
        bias_(InputOr(inputs, 3).as<T>()),
        lengths_(InputOr(inputs, 4)),
        peephole_(InputOr(inputs, 7).as<T>()),
        projection_bias_(InputOr(inputs, 9).as<T>()),
        norm_(InputOr(inputs, 10).as<T>()),
        recurrent_(inputs[2].as<T>(), 4 * hidden_, outputs_),
        state_(inputs[5].as<T>(), inputs[5].as<T>() + batch_ * outputs_),
        cell_(inputs[6].as<T>(), inputs[6].as<T>() + batch_ * hidden_) {
    if (InputOr(inputs, 8).present()) {
      projection_.emplace(inputs[8].as<T>(), outputs_, hidden_);
    }
  }

  void Run(Inputs inputs, Outputs outputs) {
    const Matrix<T> weights(inputs[1].as<T>(), 4 * hidden_, input_);
    const T* x = inputs[0].as<T>();
    T* all = outputs[0].as<T>();
    std::fill_n(all, steps_ * batch_ * outputs_, T{0});
    std::vector<T> from_input(batch_ * 4 * hidden_);
    std::vector<T> from_state(batch_ * 4 * hidden_);
    for (int64_t i = 0; i < steps_; ++i) {
      const int64_t t = op_.reverse() ? steps_ - 1 - i : i;
      weights.Times(x + t * batch_ * input_, batch_, from_input.data(), path_);
      recurrent_.Times(state_.data(), batch_, from_state.data(), path_);
      for (int64_t n = 0; n < batch_; ++n) {
        // Reversed or not, what lies behind the length is no step at all.
        if (t >= LengthOf(lengths_, n, steps_)) continue;
        T* gates = from_input.data() + n * 4 * hidden_;
        Preactivate(from_state.data() + n * 4 * hidden_, gates);
        Step(n, gates);
        std::copy_n(state_.data() + n * outputs_, outputs_,
                    all + (t * batch_ + n) * outputs_);
      }
    }
    if (outputs.size() > 1) Copy(state_, outputs[1]);
    if (outputs.size() > 2) Copy(cell_, outputs[2]);
  }

 private:
  static void Copy(const std::vector<T>& from, const MutableTensorView& to) {
    std::copy(from.begin(), from.end(), to.as<T>());
  }

  // gates += from_state and, without layer normalization, the bias.
  void Preactivate(const T* from_state, T* gates) const {
    for (int64_t i = 0; i < 4 * hidden_; ++i) {
      gates[i] += from_state[i];
      if (bias_ != nullptr && norm_ == nullptr) gates[i] += bias_[i];
    }
  }

  // One gate from its sums to its activation, in place.
  void Finish(LstmGate gate, const T* cell, const Activation& f,
              T* values) const {
    const int64_t first = gate * hidden_;
    if (peephole_ != nullptr && gate != kCell) {
      for (int64_t i = 0; i < hidden_; ++i) {
        values[i] += peephole_[first + i] * cell[i];
      }
    }
    if (norm_ != nullptr) Normalise(first, values);
    for (int64_t i = 0; i < hidden_; ++i) {
      values[i] = static_cast<T>(f(double{Bounded(values[i], op_.clip())}));
    }
  }

  void Normalise(int64_t first, T* values) const {
    const auto count = static_cast<double>(hidden_);
    double sum = 0;
    for (int64_t i = 0; i < hidden_; ++i) sum += double{values[i]};
    const double mean = sum / count;
    double squares = 0;
    for (int64_t i = 0; i < hidden_; ++i) {
      const double d = double{values[i]} - mean;
      squares += d * d;
    }
    const double deviation = std::sqrt(squares / count + kLayerNormEpsilon);
    for (int64_t i = 0; i < hidden_; ++i) {
      double value =
          (double{values[i]} - mean) / deviation * double{norm_[first + i]};
      if (bias_ != nullptr) value += double{bias_[first + i]};
      values[i] = static_cast<T>(value);
    }
  }

  // From the sums of all gates of batch row `n` to its new state and cell.
  void Step(int64_t n, T* gates) {
    T* cell = cell_.data() + n * hidden_;
    T* input = gates + kInput * hidden_;
    T* output = gates + kOutput * hidden_;
    T* forget = gates + kForget * hidden_;
    T* fresh = gates + kCell * hidden_;
    if (op_.coupling() != v1::Lstm::INPUT_FROM_FORGET) {
      Finish(kInput, cell, f_, input);
    }
    if (op_.coupling() == v1::Lstm::FORGET_FROM_INPUT) {
      for (int64_t i = 0; i < hidden_; ++i) forget[i] = T{1} - input[i];
    } else {
      Finish(kForget, cell, f_, forget);
    }
    if (op_.coupling() == v1::Lstm::INPUT_FROM_FORGET) {
      for (int64_t i = 0; i < hidden_; ++i) input[i] = T{1} - forget[i];
    }
    Finish(kCell, cell, g_, fresh);
    for (int64_t i = 0; i < hidden_; ++i) {
      const double value = double{forget[i]} * double{cell[i]} +
                           double{input[i]} * double{fresh[i]};
      cell[i] = Bounded(static_cast<T>(value), op_.cell_clip());
    }
    Finish(kOutput, cell, f_, output);
    for (int64_t i = 0; i < hidden_; ++i) {
      output[i] = static_cast<T>(double{output[i]} * h_(double{cell[i]}));
    }
    Project(output, state_.data() + n * outputs_);
  }

  void Project(const T* hidden, T* state) const {
    if (!projection_.has_value()) {
      std::copy_n(hidden, hidden_, state);
      return;
    }
    projection_->Times(hidden, 1, state, path_);
    for (int64_t i = 0; i < outputs_; ++i) {
      if (projection_bias_ != nullptr) state[i] += projection_bias_[i];
      state[i] = Bounded(state[i], op_.projection_clip());
    }
  }

  const v1::Lstm& op_;
  const CpuPath path_;
  const Activation f_, g_, h_;
  const int64_t steps_, batch_, input_, hidden_, outputs_;
  const T* const bias_;
  const TensorView lengths_;
  const T* const peephole_;
  const T* const projection_bias_;
  const T* const norm_;
  const Matrix<T> recurrent_;
  std::optional<Matrix<T>> projection_;
  std::vector<T> state_, cell_;
};

}  // namespace

absl::Status Lstm(const v1::Lstm& op, Inputs inputs, Outputs outputs,
                  CpuPath path) {
  if (outputs[0].type == v1::FLOAT64) {
    LstmKernel<double>(op, inputs, path).Run(inputs, outputs);
  } else {
    LstmKernel<float>(op, inputs, path).Run(inputs, outputs);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
