#include <algorithm>
#include <vector>

#include "ops/cell.h"
#include "ops/kernels.h"

namespace edgekiln::ops {
namespace {

// ((w x + r h) + w bias) + r bias, then the function; a sum of T.
template <typename T>
void RunCell(const v1::Rnn& op, Inputs inputs, Outputs outputs, CpuPath path) {
  const Activation f(op.hidden(), op.has_hidden(), v1::Unary::TANH);
  const int64_t steps = inputs[0].shape[0], batch = inputs[0].shape[1];
  const int64_t depth = inputs[0].shape[2], hidden = inputs[6].shape[1];
  const Matrix<T> weights(inputs[1].as<T>(), hidden, depth);
  const Matrix<T> recurrent(inputs[2].as<T>(), hidden, hidden);
  const T* const biases[] = {InputOr(inputs, 3).as<T>(),
                             InputOr(inputs, 4).as<T>()};
  const TensorView lengths = InputOr(inputs, 5);
  std::vector<T> state(inputs[6].as<T>(), inputs[6].as<T>() + batch * hidden);
  std::vector<T> sums(batch * hidden), from_state(hidden);
  T* all = outputs[0].as<T>();
  std::fill_n(all, steps * batch * hidden, T{0});
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = op.reverse() ? steps - 1 - i : i;
    weights.Times(inputs[0].as<T>() + t * batch * depth, batch, sums.data(),
                  path);
    for (int64_t n = 0; n < batch; ++n) {
      if (t >= LengthOf(lengths, n, steps)) continue;
      T* h = state.data() + n * hidden;
      recurrent.Times(h, 1, from_state.data(), path);
      for (int64_t k = 0; k < hidden; ++k) {
        T sum = sums[n * hidden + k] + from_state[k];
        for (const T* bias : biases) sum += bias == nullptr ? T{0} : bias[k];
        h[k] = static_cast<T>(f(double{Bounded(sum, op.clip())}));
      }
      std::copy_n(h, hidden, all + (t * batch + n) * hidden);
    }
  }
  if (outputs.size() > 1) {
    std::copy(state.begin(), state.end(), outputs[1].as<T>());
  }
}

}  // namespace

absl::Status Rnn(const v1::Rnn& op, Inputs inputs, Outputs outputs,
                 CpuPath path) {
  if (outputs[0].type == v1::FLOAT64) {
    RunCell<double>(op, inputs, outputs, path);
  } else {
    RunCell<float>(op, inputs, outputs, path);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
