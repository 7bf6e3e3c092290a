#include <algorithm>
#include <limits>
#include <vector>

#include "base/status_macros.h"
#include "ops/dot_output.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::ops {
namespace {

// `S` is the element type of the state and the time weights.
template <typename S>
class IntegerSvdf {
 public:
  IntegerSvdf(const v1::Svdf& op, Inputs inputs, Outputs outputs)
      : rank_(op.rank()),
        batch_(inputs[0].shape[0]),
        input_(inputs[0].shape[1]),
        filters_(inputs[1].shape[0]),
        memory_(inputs[2].shape[1]),
        input_zero_(inputs[0].quantization.zero_point[0]),
        state_zero_(inputs[4].quantization.zero_point[0]),
        output_zero_(outputs[0].quantization.zero_point[0]),
        range_(ClampRange(op.clamp(), v1::HALF_UP, outputs[0].quantization,
                          v1::INT8)) {
    const auto scale = [&](size_t i) {
      return inputs[i].quantization.scale[0];
    };
    // In float, as TensorFlow Lite computes these two.
    const float feature = scale(0) * scale(1) / scale(4);
    const float time = scale(4) * scale(2) / outputs[0].quantization.scale[0];
    feature_factor_ = QuantizeMultiplier(double{feature});
    time_factor_ = QuantizeMultiplier(double{time});
  }

  void Run(Inputs inputs, Outputs outputs) const {
    const S* old = inputs[4].as<S>();
    std::vector<S> state(old, old + batch_ * filters_ * memory_);
    for (int64_t i = 0; i < batch_ * filters_; ++i) {
      S* line = state.data() + i * memory_;
      std::copy(line + 1, line + memory_, line);
      line[memory_ - 1] =
          Feature(inputs[0].as<int8_t>() + i / filters_ * input_,
                  inputs[1].as<int8_t>() + i % filters_ * input_);
    }
    const int32_t* bias = InputOr(inputs, 3).as<int32_t>();
    const int64_t units = filters_ / rank_;
    for (int64_t i = 0; i < batch_ * units; ++i) {
      const int64_t unit = i % units;
      const S* lines =
          state.data() + (i / units * filters_ + unit * rank_) * memory_;
      const S* time = inputs[2].as<S>() + unit * rank_ * memory_;
      // The lines of one unit lie side by side.
      auto sum = static_cast<uint32_t>(bias == nullptr ? 0 : bias[unit]);
      for (int64_t m = 0; m < rank_ * memory_; ++m) {
        sum += static_cast<uint32_t>(time[m] * (lines[m] - state_zero_));
      }
      outputs[0].as<int8_t>()[i] = static_cast<int8_t>(Finish(
          static_cast<int32_t>(sum), time_factor_, output_zero_, range_));
    }
    if (outputs.size() > 1) {
      std::copy(state.begin(), state.end(), outputs[1].as<S>());
    }
  }

 private:
  S Feature(const int8_t* x, const int8_t* w) const {
    uint32_t sum = 0;
    for (int64_t k = 0; k < input_; ++k) {
      sum += static_cast<uint32_t>((x[k] - input_zero_) * w[k]);
    }
    const int64_t fresh =
        int64_t{Rescale(static_cast<int32_t>(sum), feature_factor_)} +
        state_zero_;
    return static_cast<S>(std::clamp<int64_t>(
        fresh, std::numeric_limits<S>::min(), std::numeric_limits<S>::max()));
  }

  const int64_t rank_, batch_, input_, filters_, memory_;
  const int32_t input_zero_, state_zero_, output_zero_;
  const QuantizedRange range_;
  FixedPointMultiplier feature_factor_, time_factor_;
};

}  // namespace

absl::Status SvdfInteger(const v1::Svdf& op, Inputs inputs, Outputs outputs) {
  if (inputs[4].type == v1::INT16) {
    IntegerSvdf<int16_t>(op, inputs, outputs).Run(inputs, outputs);
  } else {
    IntegerSvdf<int8_t>(op, inputs, outputs).Run(inputs, outputs);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
