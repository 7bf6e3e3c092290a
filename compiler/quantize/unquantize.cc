#include "compiler/quantize/unquantize.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/op_traits.h"
#include "compiler/passes/pipeline.h"
#include "compiler/quantize/scales.h"
#include "ops/quantized_parameters.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

constexpr size_t kBias = 2;

// Levels that a range leaves out where 0 is the least integer. With all of
// them, 255 steps, a zero point of 0 would need more than 2 * 127, and a scale
// that is a power of two would double once more.
constexpr int kLevelsLeftOut = 2;

absl::Status NoFloatForm(const Op& op) {
  return MakeError(
      absl::StatusCode::kUnimplemented,
      {.fault = Fault::kUser,
       .reason = "OP_NOT_UNQUANTIZABLE",
       .what = "a quantized layer has no float form",
       .where = absl::StrCat("layer ", op.id, " (", op.kind(), ")"),
       .fix = "quantize the float model that this one was made from"});
}

bool IsInteger(const Tensor& tensor) { return tensor.quantization.has_value(); }

// What the integers at `data` stand for; `scales` one, or one per channel.
template <typename Integer>
std::vector<float> RealValues(const Tensor& tensor,
                              const std::vector<double>& scales,
                              const std::vector<int32_t>& zero_points,
                              int32_t axis) {
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < tensor.shape.size(); ++i) {
    inner *= tensor.shape[i];
  }
  std::vector<float> values(static_cast<size_t>(tensor.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    Integer integer;
    std::memcpy(&integer, tensor.data->data() + i * sizeof(Integer),
                sizeof(Integer));
    const size_t channel = i / static_cast<size_t>(inner);
    // In double: a bias has more bits than a float.
    values[i] = static_cast<float>(
        scales[channel % scales.size()] *
        (static_cast<double>(integer) -
         static_cast<double>(zero_points[channel % zero_points.size()])));
  }
  return values;
}

// Empty for types that no quantized constant has.
std::optional<std::vector<float>> RealValues(
    const Tensor& tensor, const std::vector<double>& scales,
    const std::vector<int32_t>& zero_points, int32_t axis) {
  switch (tensor.type) {
    case v1::INT8:
      return RealValues<int8_t>(tensor, scales, zero_points, axis);
    case v1::UINT8:
      return RealValues<uint8_t>(tensor, scales, zero_points, axis);
    case v1::INT16:
      return RealValues<int16_t>(tensor, scales, zero_points, axis);
    case v1::INT32:
      return RealValues<int32_t>(tensor, scales, zero_points, axis);
    case v1::INT64:
      return RealValues<int64_t>(tensor, scales, zero_points, axis);
    default:
      return std::nullopt;
  }
}

// Whether the op sums products, to which it adds a bias.
bool HasBias(const v1::OpAttributes& attributes) {
  return attributes.has_conv2d() || attributes.has_depthwise_conv2d() ||
         attributes.has_fully_connected() || attributes.has_conv3d() ||
         attributes.has_transposed_conv();
}

bool IsConversion(const v1::OpAttributes& attributes) {
  return attributes.has_quantize() || attributes.has_dequantize() ||
         attributes.has_requantize();
}

// Whether the result can lie outside of what the operands span.
bool MakesValues(const v1::OpAttributes& attributes) {
  return HasBias(attributes) || attributes.has_add() || attributes.has_mul() ||
         attributes.has_binary();
}

// Whether 0 is the least integer of the tensor.
bool IsNeverNegative(const Tensor& tensor) {
  return IsInteger(tensor) && tensor.type != v1::INT32 &&
         !tensor.quantization->per_channel() &&
         tensor.quantization->zero_point[0] == ops::RangeOf(tensor.type).min;
}

// Of a result or input of at most 16 bits.
std::optional<RealRange> RangeOf(const Tensor& tensor) {
  if (!IsInteger(tensor) || tensor.quantization->per_channel() ||
      (tensor.type != v1::INT8 && tensor.type != v1::UINT8 &&
       tensor.type != v1::INT16)) {
    return std::nullopt;
  }
  const ops::QuantizedRange integers = ops::RangeOf(tensor.type);
  const double scale = tensor.quantization->scale[0];
  const int64_t zero = tensor.quantization->zero_point[0];
  const int64_t most =
      IsNeverNegative(tensor) ? integers.max - kLevelsLeftOut : integers.max;
  return RealRange{scale * static_cast<double>(integers.min - zero),
                   scale * static_cast<double>(most - zero)};
}

// Of the result of an op that was float already, whose operand has the range
// `input`; empty if it does not follow.
std::optional<RealRange> RangeOfResult(const Op& op,
                                       std::optional<RealRange> input) {
  const v1::OpAttributes& attributes = op.attributes;
  const v1::Unary::Function function = attributes.unary().function();
  if (attributes.has_softmax() || function == v1::Unary::SIGMOID) {
    return RealRange{0, 1};
  }
  if (function == v1::Unary::TANH) return RealRange{-1, 1};
  const bool averages =
      attributes.has_average_pool2d() || attributes.has_reduce_mean();
  if (!averages && !ChoosesValues(op)) return std::nullopt;
  if (input) input->Include({0, 0});
  return input;
}

class Unquantizer {
 public:
  explicit Unquantizer(const Graph& graph)
      : source_(graph), names_(graph), real_(graph.tensors.size(), kNoTensor) {
    result_.name = graph.name;
    result_.tensors = graph.tensors;
    result_.inputs = graph.inputs;
    result_.outputs = graph.outputs;
    result_.states = graph.states;
    is_output_.insert(graph.outputs.begin(), graph.outputs.end());
  }

  absl::StatusOr<FloatForm> Run() {
    for (const TensorId input : source_.inputs) MakeReal(input);
    for (const Op& op : source_.ops) {
      EK_RETURN_IF_ERROR(IsConversion(op.attributes) ? Drop(op) : Convert(op));
    }
    RemoveUnusedTensors(result_);
    EK_RETURN_IF_ERROR(VerifyGraph(result_), "after unquantizing");
    EK_RETURN_IF_ERROR(Simplify(result_), "simplifying the float form");
    FloatForm form;
    form.ranges = Ranges();
    form.graph = std::move(result_);
    return form;
  }

 private:
  // The tensor holds real values from now on, where it held integers.
  void MakeReal(TensorId id) {
    real_[id] = id;
    Tensor& tensor = result_.tensors[id];
    NoteRange(tensor.name, RangeOf(source_.tensors[id]));
    if (!IsInteger(tensor)) return;
    tensor.type = v1::FLOAT32;
    tensor.quantization.reset();
  }

  // The first range counts: it is that of what makes the values.
  void NoteRange(const std::string& tensor, std::optional<RealRange> range) {
    if (range) ranges_.emplace(tensor, *range);
  }

  // A conversion gives the values that it reads, but for those that the least
  // integer cuts off, and those that its bounds do.
  absl::Status Drop(const Op& op) {
    const TensorId output = op.outputs[0];
    const Tensor& before = source_.tensors[op.inputs[0]];
    const Tensor& after = source_.tensors[output];
    const auto is_real = [](const Tensor& tensor) {
      return IsInteger(tensor) || tensor.type == v1::FLOAT32;
    };
    if (op.attributes.has_converter() || !is_real(before) || !is_real(after)) {
      return NoFloatForm(op);
    }
    EK_ASSIGN_OR_RETURN(const TensorId input, Real(op, op.inputs[0]));
    NoteRange(result_.tensors[input].name, RangeOf(after));
    v1::Clamp clamp = op.attributes.requantize().clamp();
    if (IsNeverNegative(after) && !IsNeverNegative(before) &&
        !clamp.has_min()) {
      clamp.set_min(0);
    }
    const bool bounded = HasBounds(clamp);
    if (!bounded && !is_output_.contains(output)) {
      real_[output] = input;
      return absl::OkStatus();
    }
    Op kept = op;
    kept.inputs = {input};
    kept.attributes = ReshapeAttributes();  // Of the same shape: a copy.
    if (bounded) *kept.attributes.mutable_clip()->mutable_clamp() = clamp;
    // What makes the values knows them best, unless they are cut off.
    if (!bounded) NoteRange(after.name, RangeOf(before));
    MakeReal(output);
    result_.ops.push_back(std::move(kept));
    return absl::OkStatus();
  }

  absl::Status Convert(const Op& op) {
    const v1::OpAttributes& attributes = op.attributes;
    const auto is_integer = [this](TensorId id) {
      return id != kNoTensor && IsInteger(source_.tensors[id]);
    };
    const bool integer =
        std::any_of(op.inputs.begin(), op.inputs.end(), is_integer) ||
        std::any_of(op.outputs.begin(), op.outputs.end(), is_integer);
    // Their integers have scales of their own between the sums.
    const bool is_cell = attributes.has_lstm() || attributes.has_svdf();
    if (integer && (attributes.has_converter() || is_cell)) {
      return NoFloatForm(op);
    }
    Op real = op;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == kNoTensor) continue;
      if (integer && i == kBias && HasBias(attributes)) {
        EK_ASSIGN_OR_RETURN(real.inputs[i], RealBias(op));
      } else {
        EK_ASSIGN_OR_RETURN(real.inputs[i], Real(op, op.inputs[i]));
      }
    }
    for (const TensorId output : op.outputs) {
      if (output != kNoTensor) MakeReal(output);
    }
    if (integer) {
      real.attributes.clear_rounding();
      NameSaturation(op, real.attributes);
      const auto views = ViewsOf(result_, real.inputs);
      const auto results = ViewsOf(result_, real.outputs);
      if (!ops::CheckOp(real.attributes, views, results).ok()) {
        return NoFloatForm(op);
      }
    }
    result_.ops.push_back(std::move(real));
    return absl::OkStatus();
  }

  // A ReLU that saturation amounts to, unless no result is negative anyway.
  void NameSaturation(const Op& op, v1::OpAttributes& attributes) const {
    const v1::Clamp* before = ClampOf(attributes);
    if (before == nullptr || before->has_min() || !MakesValues(attributes) ||
        !IsNeverNegative(source_.tensors[op.outputs[0]])) {
      return;
    }
    const bool sums = HasBias(attributes) || attributes.has_binary();
    const bool negative =
        sums ||
        std::any_of(op.inputs.begin(), op.inputs.end(), [this](TensorId id) {
          return !IsNeverNegative(source_.tensors[id]);
        });
    if (negative) MutableClamp(attributes)->set_min(0);
  }

  // The tensor that holds the real values of `id`, an input of `op`.
  absl::StatusOr<TensorId> Real(const Op& op, TensorId id) {
    if (real_[id] != kNoTensor) return real_[id];
    const Tensor& tensor = source_.tensors[id];
    if (IsInteger(tensor)) {
      const Quantization& quantization = *tensor.quantization;
      const auto values = RealValues(
          tensor, {quantization.scale.begin(), quantization.scale.end()},
          quantization.zero_point, quantization.axis);
      if (!values) return NoFloatForm(op);
      result_.tensors[id] = FloatTensorLike(tensor, tensor.shape, *values);
    }
    real_[id] = id;
    return id;
  }

  // A constant of its own: in steps of the products of this op's scales,
  // whatever its tensor says.
  absl::StatusOr<TensorId> RealBias(const Op& op) {
    const Tensor& bias = source_.tensors[op.inputs[kBias]];
    const Tensor& input = source_.tensors[op.inputs[0]];
    const Tensor& weights = source_.tensors[op.inputs[1]];
    if (!bias.is_constant() || !IsInteger(input) || !IsInteger(weights)) {
      return NoFloatForm(op);
    }
    std::vector<double> scales;
    for (const float scale : weights.quantization->scale) {
      scales.push_back(double{input.quantization->scale[0]} * scale);
    }
    const auto values = RealValues(bias, scales, {0}, 0);
    if (!values) return NoFloatForm(op);
    Tensor real = FloatTensorLike(bias, bias.shape, *values);
    real.name = names_.TensorName(bias.name);
    result_.tensors.push_back(std::move(real));
    return static_cast<TensorId>(result_.tensors.size()) - 1;
  }

  std::optional<RealRange> NotedRange(TensorId id) const {
    if (id == kNoTensor) return std::nullopt;
    const auto found = ranges_.find(result_.tensors[id].name);
    if (found == ranges_.end()) return std::nullopt;
    return found->second;
  }

  // In the order of the graph; none if one is missing.
  std::optional<v1::CalibrationStatistics> Ranges() {
    v1::CalibrationStatistics statistics;
    std::vector<TensorId> tensors = result_.inputs;
    for (const Op& op : result_.ops) {
      tensors.insert(tensors.end(), op.outputs.begin(), op.outputs.end());
      if (op.inputs.empty() || op.outputs[0] == kNoTensor) continue;
      NoteRange(result_.tensors[op.outputs[0]].name,
                RangeOfResult(op, NotedRange(op.inputs[0])));
    }
    for (const TensorId id : tensors) {
      if (id == kNoTensor || result_.tensors[id].type != v1::FLOAT32) continue;
      const std::optional<RealRange> noted = NotedRange(id);
      if (!noted) return std::nullopt;
      v1::CalibrationStatistics::TensorRange& range = *statistics.add_ranges();
      range.set_tensor(result_.tensors[id].name);
      range.set_min(static_cast<float>(noted->low));
      range.set_max(static_cast<float>(noted->high));
      range.set_average_min(range.min());
      range.set_average_max(range.max());
    }
    return statistics;
  }

  const Graph& source_;
  FreshNames names_;
  std::vector<TensorId> real_;  // By tensor; kNoTensor: not yet.
  std::set<TensorId> is_output_;
  std::map<std::string, RealRange> ranges_;  // By name.
  Graph result_;
};

}  // namespace

absl::StatusOr<FloatForm> Unquantize(const Graph& quantized) {
  return Unquantizer(quantized).Run();
}

}  // namespace edgekiln::compiler
