#include <algorithm>
#include <vector>

#include "ops/cell.h"
#include "ops/kernels.h"

namespace edgekiln::ops {
namespace {

template <typename T>
class GruKernel {
 public:
  GruKernel(const v1::Gru& op, Inputs inputs, CpuPath path)
      : op_(op),
        path_(path),
        f_(op.gate(), op.has_gate(), v1::Unary::SIGMOID),
        g_(op.hidden(), op.has_hidden(), v1::Unary::TANH),
        steps_(inputs[0].shape[0]),
        batch_(inputs[0].shape[1]),
        input_(inputs[0].shape[2]),
        hidden_(inputs[6].shape[1]),
        bias_(InputOr(inputs, 3).as<T>()),
        recurrent_bias_(InputOr(inputs, 4).as<T>()),
        lengths_(InputOr(inputs, 5)),
        gates_(inputs[2].as<T>(), 2 * hidden_, hidden_),
        fresh_(inputs[2].as<T>() + 2 * hidden_ * hidden_, hidden_, hidden_),
        state_(inputs[6].as<T>(), inputs[6].as<T>() + batch_ * hidden_) {}

  void Run(Inputs inputs, Outputs outputs) {
    const Matrix<T> weights(inputs[1].as<T>(), 3 * hidden_, input_);
    const T* x = inputs[0].as<T>();
    T* all = outputs[0].as<T>();
    std::fill_n(all, steps_ * batch_ * hidden_, T{0});
    std::vector<T> from_input(batch_ * 3 * hidden_);
    std::vector<T> from_state(2 * hidden_), candidate(hidden_);
    for (int64_t i = 0; i < steps_; ++i) {
      const int64_t t = op_.reverse() ? steps_ - 1 - i : i;
      weights.Times(x + t * batch_ * input_, batch_, from_input.data(), path_);
      for (int64_t n = 0; n < batch_; ++n) {
        if (t >= LengthOf(lengths_, n, steps_)) continue;
        T* state = state_.data() + n * hidden_;
        gates_.Times(state, 1, from_state.data(), path_);
        Step(from_input.data() + n * 3 * hidden_, from_state.data(),
             candidate.data(), state);
        std::copy_n(state, hidden_, all + (t * batch_ + n) * hidden_);
      }
    }
    if (outputs.size() > 1) {
      std::copy(state_.begin(), state_.end(), outputs[1].as<T>());
    }
  }

 private:
  // Bias `index` of one of the two, or 0.
  static T Bias(const T* bias, int64_t index) {
    return bias == nullptr ? T{0} : bias[index];
  }

  T Activate(const Activation& f, T value) const {
    return static_cast<T>(f(double{Bounded(value, op_.clip())}));
  }

  // `sums` are the input's part of all gates, `gates` the state's part of
  // update and reset; both are used up.
  void Step(const T* sums, T* gates, T* candidate, T* state) const {
    const int64_t h = hidden_;
    for (int64_t i = 0; i < 2 * h; ++i) {
      const T value =
          ((sums[i] + gates[i]) + Bias(bias_, i)) + Bias(recurrent_bias_, i);
      gates[i] = Activate(f_, value);
    }
    const T* update = gates;
    T* reset = gates + h;
    if (op_.linear_before_reset()) {
      fresh_.Times(state, 1, candidate, path_);
      for (int64_t i = 0; i < h; ++i) {
        candidate[i] =
            reset[i] * (candidate[i] + Bias(recurrent_bias_, 2 * h + i));
      }
    } else {
      for (int64_t i = 0; i < h; ++i) reset[i] *= state[i];
      fresh_.Times(reset, 1, candidate, path_);
      for (int64_t i = 0; i < h; ++i) {
        candidate[i] += Bias(recurrent_bias_, 2 * h + i);
      }
    }
    for (int64_t i = 0; i < h; ++i) {
      const T value = (sums[2 * h + i] + candidate[i]) + Bias(bias_, 2 * h + i);
      const double fresh = Activate(g_, value);
      const double kept = update[i];
      state[i] = static_cast<T>((1 - kept) * fresh + kept * double{state[i]});
    }
  }

  const v1::Gru& op_;
  const CpuPath path_;
  const Activation f_, g_;
  const int64_t steps_, batch_, input_, hidden_;
  const T* const bias_;
  const T* const recurrent_bias_;
  const TensorView lengths_;
  const Matrix<T> gates_;  // Update and reset.
  const Matrix<T> fresh_;
  std::vector<T> state_;
};

}  // namespace

absl::Status Gru(const v1::Gru& op, Inputs inputs, Outputs outputs,
                 CpuPath path) {
  if (outputs[0].type == v1::FLOAT64) {
    GruKernel<double>(op, inputs, path).Run(inputs, outputs);
  } else {
    GruKernel<float>(op, inputs, path).Run(inputs, outputs);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
