#include "compiler/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/layer_id.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/scales.h"

namespace edgekiln::compiler {
namespace {

absl::Status Unsupported(const Op& op, std::string what, std::string limit,
                         std::string fix) {
  return MakeError(
      absl::StatusCode::kUnimplemented,
      {.fault = Fault::kUser,
       .reason = "OP_NOT_QUANTIZABLE",
       .what = std::move(what),
       .where = absl::StrCat("layer ", op.id, " (", op.kind(),
                             op.name.empty() ? "" : ", ", op.name, ")"),
       .limit = std::move(limit),
       .fix = std::move(fix)});
}

// Index of the channel dimension of constant weights; -1 for ops without.
int WeightAxis(const Op& op) {
  if (op.attributes.has_conv2d() || op.attributes.has_fully_connected()) {
    return 0;
  }
  return op.attributes.has_depthwise_conv2d() ? 3 : -1;
}

// Ops whose kernels need one quantization for inputs and output.
bool SharesQuantization(const Op& op) {
  switch (op.attributes.op_case()) {
    case v1::OpAttributes::kMaxPool2D:
    case v1::OpAttributes::kAveragePool2D:
    case v1::OpAttributes::kReshape:
    case v1::OpAttributes::kTranspose:
    case v1::OpAttributes::kPad:
    case v1::OpAttributes::kConcat:
      return true;
    default:
      return false;
  }
}

absl::Status CheckOpIsFloat(const Graph& graph, const Op& op) {
  if (op.attributes.has_batch_normalization()) {
    return Unsupported(op, "batch normalization has no int8 form",
                       "one whose parameters are constants is folded away",
                       "export the model for inference with constant "
                       "statistics");
  }
  if (op.attributes.has_quantize() || op.attributes.has_dequantize()) {
    return Unsupported(op, "the model is quantized already", "float models",
                       "compile it without calibration data");
  }
  for (const TensorId id : op.inputs) {
    if (id != kNoTensor && graph.tensors[id].type != v1::FLOAT32) {
      return Unsupported(
          op,
          absl::StrCat("input '", graph.tensors[id].name, "' is ",
                       v1::ElementType_Name(graph.tensors[id].type)),
          "FLOAT32", "export a float32 model");
    }
  }
  if (WeightAxis(op) < 0) return absl::OkStatus();
  for (size_t i = 1; i < op.inputs.size(); ++i) {
    if (op.inputs[i] != kNoTensor &&
        !graph.tensors[op.inputs[i]].is_constant()) {
      return Unsupported(
          op,
          absl::StrCat("weights or bias '", graph.tensors[op.inputs[i]].name,
                       "' are computed at run time"),
          "constant weights and bias", "export with constant weights");
    }
  }
  return absl::OkStatus();
}

bool AllFinite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

// Sets of tensors that share one quantization.
class Groups {
 public:
  explicit Groups(const Graph& graph) : parent_(graph.tensors.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const Op& op : graph.ops) {
      if (!SharesQuantization(op)) continue;
      for (const TensorId input : op.inputs) Join(input, op.outputs[0]);
    }
  }

  TensorId Of(TensorId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }

 private:
  void Join(TensorId a, TensorId b) {
    // The smaller index leads: the result does not depend on the order.
    const TensorId of_a = Of(a);
    const TensorId of_b = Of(b);
    parent_[std::max(of_a, of_b)] = std::min(of_a, of_b);
  }

  std::vector<TensorId> parent_;
};

class Quantizer {
 public:
  Quantizer(const Graph& graph, const v1::CalibrationStatistics& statistics)
      : source_(graph), groups_(graph), names_(graph) {
    for (const auto& range : statistics.ranges()) {
      statistics_[range.tensor()] = &range;
    }
    result_.name = graph.name;
    result_.tensors = graph.tensors;
  }

  absl::StatusOr<Graph> Run() {
    for (const Op& op : source_.ops) {
      EK_RETURN_IF_ERROR(CheckOpIsFloat(source_, op));
    }
    EK_RETURN_IF_ERROR(ChooseQuantizations());
    for (const TensorId input : source_.inputs) QuantizeInput(input);
    for (const Op& op : source_.ops) {
      EK_RETURN_IF_ERROR(QuantizeOp(op));
    }
    for (const TensorId output : source_.outputs) DequantizeOutput(output);
    RemoveUnusedTensors(result_);
    EK_RETURN_IF_ERROR(VerifyGraph(result_), "after quantization");
    return std::move(result_);
  }

 private:
  absl::StatusOr<RealRange> RangeOf(TensorId id) const {
    const Tensor& tensor = source_.tensors[id];
    RealRange range;
    if (tensor.is_constant()) {
      const std::vector<float> values = *FloatConstantValues(tensor);
      if (!AllFinite(values)) {
        return MakeError(absl::StatusCode::kInvalidArgument,
                         {.fault = Fault::kUser,
                          .reason = "MODEL_INVALID",
                          .what = "a constant holds what is no finite number",
                          .where = absl::StrCat("tensor '", tensor.name, "'"),
                          .need = "finite constants",
                          .fix = "train or export again"});
      }
      for (const float value : values) range.Include({value, value});
      return range;
    }
    const auto found = statistics_.find(tensor.name);
    if (found == statistics_.end() ||
        !std::isfinite(found->second->percentile_low()) ||
        !std::isfinite(found->second->percentile_high()) ||
        found->second->percentile_low() > found->second->percentile_high()) {
      return MakeError(
          absl::StatusCode::kInvalidArgument,
          {.fault = Fault::kUser,
           .reason = "CALIBRATION_INVALID",
           .what = "the calibration statistics have no range for a tensor",
           .where = absl::StrCat("tensor '", tensor.name, "'"),
           .need = "statistics of this very graph",
           .fix = "calibrate again"});
    }
    return RealRange{found->second->percentile_low(),
                     found->second->percentile_high()};
  }

  // One quantization per group: the range of all its members.
  absl::Status ChooseQuantizations() {
    std::map<TensorId, RealRange> ranges;
    std::map<TensorId, bool> has_softmax;
    const auto add = [&](TensorId id) -> absl::Status {
      EK_ASSIGN_OR_RETURN(const RealRange range, RangeOf(id));
      ranges.try_emplace(groups_.Of(id), range).first->second.Include(range);
      return absl::OkStatus();
    };
    for (const TensorId id : source_.inputs) EK_RETURN_IF_ERROR(add(id));
    for (const Op& op : source_.ops) {
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const bool weights = WeightAxis(op) >= 0 && i > 0;
        if (op.inputs[i] == kNoTensor || weights) continue;
        EK_RETURN_IF_ERROR(add(op.inputs[i]));
      }
      EK_RETURN_IF_ERROR(add(op.outputs[0]));
      if (op.attributes.has_softmax()) {
        has_softmax[groups_.Of(op.outputs[0])] = true;
      }
    }
    for (const auto& [group, range] : ranges) {
      // TensorFlow Lite's convention for probabilities.
      const bool probabilities =
          has_softmax.contains(group) && range.low >= 0 && range.high <= 1;
      quantization_[group] = probabilities ? Quantization{.scale = {1.0f / 256},
                                                          .zero_point = {-128},
                                                          .axis = 0}
                                           : ActivationQuantization(range);
    }
    return absl::OkStatus();
  }

  const Quantization& QuantizationOf(TensorId id) {
    return quantization_.at(groups_.Of(id));
  }

  TensorId AddTensor(Tensor tensor) {
    result_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(result_.tensors.size()) - 1;
  }

  // The int8 tensor that stands for a float one. Tensors inside the graph keep
  // their place and name; those at its border get a second one.
  TensorId Quantized(TensorId id) {
    if (const auto found = quantized_.find(id); found != quantized_.end()) {
      return found->second;
    }
    Tensor tensor = source_.tensors[id];
    tensor.type = v1::INT8;
    tensor.quantization = QuantizationOf(id);
    if (tensor.is_constant()) {
      tensor.data = std::make_shared<const std::string>(QuantizedValues(
          *FloatConstantValues(source_.tensors[id]), *tensor.quantization));
    }
    tensor.name = names_.TensorName(absl::StrCat(tensor.name, ".int8"));
    const TensorId added = AddTensor(std::move(tensor));
    quantized_[id] = added;
    return added;
  }

  // Tensors inside the graph change type where they are.
  TensorId QuantizedResult(TensorId id) {
    const auto is_output = [this](TensorId tensor) {
      for (const TensorId output : source_.outputs) {
        if (output == tensor) return true;
      }
      return false;
    };
    if (is_output(id)) return Quantized(id);
    result_.tensors[id].type = v1::INT8;
    result_.tensors[id].quantization = QuantizationOf(id);
    quantized_[id] = id;
    return id;
  }

  std::string BorderId(absl::string_view prefix, TensorId id) {
    return names_.OpId(absl::StrCat(
        prefix, LayerIdMaker().Make(source_.tensors[id].name, "tensor")));
  }

  void QuantizeInput(TensorId input) {
    Op op;
    op.id = BorderId("quantize_", input);
    op.attributes.mutable_quantize();
    op.inputs = {input};
    op.outputs = {Quantized(input)};
    result_.inputs.push_back(input);
    result_.ops.push_back(std::move(op));
  }

  void DequantizeOutput(TensorId output) {
    result_.outputs.push_back(output);
    const auto given = [output](TensorId other) { return other == output; };
    if (std::count_if(result_.outputs.begin(), result_.outputs.end(), given) >
        1) {
      return;
    }
    Op op;
    op.id = BorderId("dequantize_", output);
    op.attributes.mutable_dequantize();
    op.inputs = {Quantized(output)};
    op.outputs = {output};
    result_.ops.push_back(std::move(op));
  }

  absl::Status QuantizeOp(const Op& op) {
    Op quantized = op;
    const int axis = WeightAxis(op);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == kNoTensor || (axis >= 0 && i > 0)) continue;
      quantized.inputs[i] = Quantized(op.inputs[i]);
    }
    if (axis >= 0) EK_RETURN_IF_ERROR(SetWeights(op, axis, quantized));
    quantized.outputs = {QuantizedResult(op.outputs[0])};
    result_.ops.push_back(std::move(quantized));
    return absl::OkStatus();
  }

  // New constants for the weights and bias of `op`: its biases depend on the
  // scale of its input, so they are not shared between ops.
  absl::Status SetWeights(const Op& op, int axis, Op& quantized) {
    const Tensor& weights = source_.tensors[op.inputs[1]];
    const std::vector<float> values = *FloatConstantValues(weights);
    std::vector<float> bias;
    const bool has_bias = op.inputs.size() > 2 && op.inputs[2] != kNoTensor;
    if (has_bias) bias = *FloatConstantValues(source_.tensors[op.inputs[2]]);
    if (!AllFinite(values) || !AllFinite(bias)) {
      return Unsupported(op, "weights or bias hold what is no finite number",
                         "finite weights", "train or export again");
    }
    int64_t inner = 1;
    for (size_t i = axis + 1; i < weights.shape.size(); ++i) {
      inner *= weights.shape[i];
    }
    QuantizedWeights integers =
        QuantizeWeights(values, weights.shape[axis], inner, bias,
                        QuantizationOf(op.inputs[0]).scale[0], axis);
    quantized.inputs[1] =
        AddConstant(weights, v1::INT8, std::move(integers.weights),
                    std::move(integers.weight_data));
    if (has_bias) {
      quantized.inputs[2] =
          AddConstant(source_.tensors[op.inputs[2]], v1::INT32,
                      std::move(integers.bias), std::move(integers.bias_data));
    }
    return absl::OkStatus();
  }

  TensorId AddConstant(const Tensor& like, v1::ElementType type,
                       Quantization quantization, std::string data) {
    Tensor tensor = like;
    tensor.name = names_.TensorName(absl::StrCat(like.name, ".int"));
    tensor.type = type;
    tensor.quantization = std::move(quantization);
    tensor.data = std::make_shared<const std::string>(std::move(data));
    return AddTensor(std::move(tensor));
  }

  const Graph& source_;
  Groups groups_;
  FreshNames names_;
  std::map<std::string, const v1::CalibrationStatistics::TensorRange*>
      statistics_;
  std::map<TensorId, Quantization> quantization_;  // By group.
  std::map<TensorId, TensorId> quantized_;  // Float tensor -> int8 tensor.
  Graph result_;
};

}  // namespace

absl::StatusOr<Graph> QuantizeGraph(
    const Graph& float_graph, const v1::CalibrationStatistics& statistics) {
  return Quantizer(float_graph, statistics).Run();
}

}  // namespace edgekiln::compiler
