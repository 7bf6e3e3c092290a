#include "compiler/passes/product_sums.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/passes/clamps.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::compiler {
namespace {

// Of one channel.
struct WeightSums {
  int64_t positive = 0;
  int64_t negative = 0;  // At most 0.
  void Add(int32_t weight) { (weight > 0 ? positive : negative) += weight; }
};

SumRange WithInputs(const WeightSums& weights, SumRange inputs) {
  return {
      .low = weights.positive * inputs.low + weights.negative * inputs.high,
      .high = weights.positive * inputs.high + weights.negative * inputs.low};
}

// Whether all values that the op makes are among those of its first input or
// its zero point, or lie between them.
bool PassesOn(const Graph& graph, const Op& op) {
  const v1::OpAttributes& attributes = op.attributes;
  const bool pads_with_others = attributes.has_pad() &&
                                attributes.pad().mode() == v1::Pad::CONSTANT &&
                                attributes.pad().value() != 0;
  if (pads_with_others ||
      (!attributes.has_max_pool2d() && !attributes.has_average_pool2d() &&
       !attributes.has_reshape() && !attributes.has_transpose() &&
       !attributes.has_pad())) {
    return false;
  }
  const Tensor& input = graph.tensors[op.inputs[0]];
  const Tensor& output = graph.tensors[op.outputs[0]];
  return !input.is_constant() && input.type == output.type &&
         input.quantization == output.quantization;
}

SumRange Both(SumRange a, SumRange b) {
  return {.low = std::max(a.low, b.low), .high = std::min(a.high, b.high)};
}

// Of integers, less the zero point; with 0.
SumRange LessZeroOf(const Tensor& tensor, ops::QuantizedRange integers) {
  const int64_t zero = tensor.quantization->zero_point[0];
  return {.low = std::min<int64_t>(integers.min - zero, 0),
          .high = std::max<int64_t>(integers.max - zero, 0)};
}

}  // namespace

bool Fits(SumRange range, int32_t bits) {
  if (bits >= 64) return true;
  const int64_t end = int64_t{1} << (bits - 1);
  return range.low >= -end && range.high < end;
}

void ValueRanges::Update() {
  for (; next_ < graph_.ops.size(); ++next_) Add(graph_.ops[next_]);
}

void ValueRanges::Add(const Op& op) {
  if (op.outputs.empty() || op.outputs[0] == kNoTensor) return;
  const TensorId result = op.outputs[0];
  const Tensor& values = graph_.tensors[result];
  if (!values.quantization || values.quantization->per_channel()) return;
  const SumRange all = LessZeroOf(values, ops::RangeOf(values.type));
  SumRange range = all;
  const v1::Clamp* clamp = ClampOf(op.attributes);
  if (clamp != nullptr && HasBounds(*clamp)) {
    const SumRange limits = LessZeroOf(
        values, ops::ClampRange(*clamp, op.attributes.rounding(),
                                QuantizationOf(values), values.type));
    range = Both(range, limits);
  }
  if (PassesOn(graph_, op)) {
    range = Both(range, LessZero(op.inputs[0]));
  }
  if (range != all) limits_[result] = range;
}

SumRange ValueRanges::LessZero(TensorId tensor) const {
  if (const SumRange* limits = FindLimits(tensor)) return *limits;
  const Tensor& values = graph_.tensors[tensor];
  return LessZeroOf(values, ops::RangeOf(values.type));
}

const SumRange* ValueRanges::FindLimits(TensorId tensor) const {
  const auto found = limits_.find(tensor);
  return found == limits_.end() ? nullptr : &found->second;
}

SumRange SumOfProducts(absl::Span<const int8_t> weights, SumRange inputs) {
  WeightSums sums;
  for (const int8_t weight : weights) sums.Add(weight);
  return WithInputs(sums, inputs);
}

std::optional<SumRange> SumsOfProducts(const Graph& graph, const Op& op,
                                       const ValueRanges& inputs) {
  const v1::OpAttributes& attributes = op.attributes;
  const bool channels_last = attributes.has_depthwise_conv2d();
  if (!attributes.has_conv2d() && !attributes.has_fully_connected() &&
      !channels_last) {
    return std::nullopt;
  }
  const Tensor& weights = graph.tensors[op.inputs[1]];
  const bool is_unsigned = weights.type == v1::UINT8;
  if (!weights.is_constant() || (weights.type != v1::INT8 && !is_unsigned)) {
    return std::nullopt;
  }
  const absl::string_view data = *weights.data;
  const auto channels = static_cast<size_t>(
      channels_last ? weights.shape.back() : weights.shape.front());
  if (channels == 0 || data.size() % channels != 0) return std::nullopt;
  const size_t depth = data.size() / channels;
  const std::vector<int32_t>& zeros = weights.quantization->zero_point;
  std::vector<WeightSums> sums(channels);
  for (size_t i = 0; i < data.size(); ++i) {
    const size_t channel = channels_last ? i % channels : i / depth;
    const int32_t value = is_unsigned ? int32_t{static_cast<uint8_t>(data[i])}
                                      : int32_t{static_cast<int8_t>(data[i])};
    sums[channel].Add(value - zeros[zeros.size() == 1 ? 0 : channel]);
  }
  const SumRange values = inputs.LessZero(op.inputs[0]);
  SumRange all;
  for (const WeightSums& channel : sums) {
    const SumRange range = WithInputs(channel, values);
    all.low = std::min(all.low, range.low);
    all.high = std::max(all.high, range.high);
  }
  return all;
}

}  // namespace edgekiln::compiler
