#ifndef EK_OPS_LSTM_STEPS_H_
#define EK_OPS_LSTM_STEPS_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "edgekiln/v1/graph.pb.h"
#include "ops/cell.h"
#include "ops/kernels.h"

// What the kernels of LSTMs share; CheckOp() has accepted their inputs.
namespace edgekiln::ops {

// Where ONNX puts them among the 4H rows.
enum LstmGate { kInput = 0, kOutput = 1, kForget = 2, kCell = 3 };

// The rest is that of integers: states of T, cells and gates of int16.

// Values of a gate after its function in steps of 2^-15, by unit.
using GateValues = std::vector<int16_t>;

// The input and the forget gate as `activated(gate)` gives them, or one of them
// and what it leaves of 1.
template <typename Activated>
std::pair<GateValues, GateValues> InputAndForget(v1::Lstm::Coupling coupling,
                                                 const Activated& activated) {
  const auto rest = [](GateValues values) {
    for (int16_t& value : values) value = static_cast<int16_t>(32767 - value);
    return values;
  };
  if (coupling == v1::Lstm::INPUT_FROM_FORGET) {
    GateValues forget = activated(kForget);
    return {rest(forget), std::move(forget)};
  }
  GateValues in = activated(kInput);
  if (coupling == v1::Lstm::FORGET_FROM_INPUT) return {in, rest(in)};
  return {std::move(in), activated(kForget)};
}

// Calls step(x, state, cell), which replaces the latter two, for every step
// within a batch row's length. Those behind it give the zero point.
template <typename T, typename Step>
void RunIntegerLstm(const v1::Lstm& op, Inputs inputs, Outputs outputs,
                    const Step& step) {
  const TensorView& x = inputs[0];
  const TensorView lengths = InputOr(inputs, 4);
  const int64_t steps = x.shape[0], batch = x.shape[1], depth = x.shape[2];
  const int64_t width = inputs[5].shape[1], units = inputs[6].shape[1];
  std::vector<T> state(inputs[5].as<T>(), inputs[5].as<T>() + batch * width);
  std::vector<int16_t> cell(inputs[6].as<int16_t>(),
                            inputs[6].as<int16_t>() + batch * units);
  T* all = outputs[0].as<T>();
  std::fill_n(all, steps * batch * width,
              static_cast<T>(inputs[5].quantization.zero_point[0]));
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = op.reverse() ? steps - 1 - i : i;
    for (int64_t n = 0; n < batch; ++n) {
      if (t >= LengthOf(lengths, n, steps)) continue;
      const int64_t at = t * batch + n;
      T* row = state.data() + n * width;
      step(x.as<T>() + at * depth, row, cell.data() + n * units);
      std::copy_n(row, width, all + at * width);
    }
  }
  if (outputs.size() > 1) {
    std::copy(state.begin(), state.end(), outputs[1].as<T>());
  }
  if (outputs.size() > 2) {
    std::copy(cell.begin(), cell.end(), outputs[2].as<int16_t>());
  }
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_LSTM_STEPS_H_
