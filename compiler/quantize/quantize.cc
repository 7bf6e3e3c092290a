#include "compiler/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/layer_id.h"
#include "compiler/passes/float32_form.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/integer_choice.h"
#include "compiler/quantize/scales.h"
#include "compiler/quantize/tensor_quantizations.h"

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

absl::Status CheckOpIsFloat(const Op& op) {
  if (op.attributes.has_quantize() || op.attributes.has_dequantize()) {
    return Unsupported(op, "the model is quantized already", "float models",
                       "compile it without calibration data");
  }
  return absl::OkStatus();
}

// Tensors of values that no scale spans together with others: masks of
// infinities, or of what stands for them.
std::vector<bool> UnboundedTensors(
    const Graph& graph, const v1::CalibrationStatistics& statistics) {
  constexpr float kMask = 1e30f;
  const auto is_mask = [](float value) { return std::abs(value) >= kMask; };
  std::set<std::string> names;
  for (const auto& range : statistics.ranges()) {
    if (is_mask(range.min()) || is_mask(range.max())) {
      names.insert(range.tensor());
    }
  }
  std::vector<bool> unbounded;
  for (const Tensor& tensor : graph.tensors) {
    const auto values = FloatConstantValues(tensor);
    unbounded.push_back(
        names.contains(tensor.name) ||
        (values && std::any_of(values->begin(), values->end(), is_mask)));
  }
  return unbounded;
}

// The first bytes of `data`, as many as `elements` have of one byte each.
ConstantData FormOf(const ConstantData& data, int64_t elements) {
  return ConstantData::Borrowed(data->substr(0, elements));
}

class Quantizer {
 public:
  // Without statistics only the form is made.
  Quantizer(const Graph& graph, const v1::CalibrationStatistics* statistics,
            const v1::QuantizationNeeds& needs)
      : source_(graph),
        per_tensor_(needs.per_tensor().begin(), needs.per_tensor().end()),
        rules_{.symmetric = needs.symmetric_activations(),
               .power_of_two = needs.power_of_two_scales()},
        statistics_(statistics),
        form_only_(statistics == nullptr),
        integer_(ChooseIntegerOps(
            graph, form_only_ ? std::vector<bool>(graph.tensors.size(), false)
                              : UnboundedTensors(graph, *statistics))),
        quantizations_(graph, integer_),
        names_(graph),
        float_(graph.tensors.size(), kNoTensor) {
    result_.name = graph.name;
    result_.tensors = graph.tensors;
    result_.outputs = graph.outputs;
    result_.inputs = graph.inputs;
    result_.states = graph.states;
    for (const TensorId id : graph.outputs) is_output_.insert(id);
  }

  absl::StatusOr<Graph> Run() {
    for (const Op& op : source_.ops) {
      EK_RETURN_IF_ERROR(CheckOpIsFloat(op));
    }
    EK_RETURN_IF_ERROR(quantizations_.Choose(statistics_, rules_));
    for (const TensorId input : source_.inputs) float_[input] = input;
    for (const TensorId input : source_.inputs) {
      if (ReadByIntegers(input)) Quantized(input);
    }
    for (size_t i = 0; i < source_.ops.size(); ++i) {
      if (integer_[i]) {
        EK_RETURN_IF_ERROR(QuantizeOp(source_.ops[i]));
      } else {
        KeepFloat(source_.ops[i]);
        // With the inputs, not between layers: there it would cut what an
        // engine runs in two.
        const TensorId result = source_.ops[i].outputs[0];
        if (IsCastOfFloats(source_, source_.ops[i]) && ReadByIntegers(result)) {
          Quantized(result);
        }
      }
    }
    for (const TensorId output : source_.outputs) Real(output);
    RemoveUnusedTensors(result_);
    MergeFloat16Casts(result_);
    if (form_only_) return std::move(result_);
    EK_RETURN_IF_ERROR(VerifyGraph(result_), "after quantization");
    return std::move(result_);
  }

 private:
  const Quantization& QuantizationOf(TensorId id) {
    return quantizations_.Of(id);
  }

  TensorId AddTensor(Tensor tensor) {
    result_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(result_.tensors.size()) - 1;
  }

  bool IsFloat(TensorId id) const {
    return id != kNoTensor && source_.tensors[id].type == v1::FLOAT32;
  }

  bool ReadByIntegers(TensorId id) const {
    for (size_t i = 0; i < source_.ops.size(); ++i) {
      const std::vector<TensorId>& inputs = source_.ops[i].inputs;
      if (integer_[i] &&
          std::find(inputs.begin(), inputs.end(), id) != inputs.end()) {
        return IsFloat(id);
      }
    }
    return false;
  }

  // The int8 tensor that stands for a float one; where there is none yet, a
  // constant or a Quantize of the real values makes it.
  TensorId Quantized(TensorId id) {
    if (const auto found = quantized_.find(id); found != quantized_.end()) {
      return found->second;
    }
    const TensorId added = AddQuantized(id);
    if (source_.tensors[id].is_constant()) return added;
    Op op;
    op.id = BorderId("quantize_", id);
    op.attributes.mutable_quantize();
    op.inputs = {float_[id]};
    op.outputs = {added};
    result_.ops.push_back(std::move(op));
    return added;
  }

  TensorId AddQuantized(TensorId id) {
    Tensor tensor = source_.tensors[id];
    tensor.type = v1::INT8;
    tensor.quantization = QuantizationOf(id);
    if (tensor.is_constant() && form_only_) {
      tensor.data = FormOf(tensor.data, tensor.num_elements());
    } else if (tensor.is_constant()) {
      tensor.data = ConstantData(QuantizedValues(
          *FloatConstantValues(source_.tensors[id]), *tensor.quantization));
    }
    tensor.name = names_.TensorName(absl::StrCat(tensor.name, ".int8"));
    const TensorId added = AddTensor(std::move(tensor));
    quantized_[id] = added;
    return added;
  }

  // The tensor of the real values; where only integers were computed, made of
  // them. Graph outputs keep their tensor.
  TensorId Real(TensorId id) {
    if (!IsFloat(id) || source_.tensors[id].is_constant()) return id;
    if (float_[id] != kNoTensor) return float_[id];
    TensorId real = id;
    if (!is_output_.contains(id)) {
      Tensor tensor = source_.tensors[id];
      tensor.name = names_.TensorName(absl::StrCat(tensor.name, ".float"));
      real = AddTensor(std::move(tensor));
    }
    Op op;
    op.id = BorderId("dequantize_", id);
    op.attributes.mutable_dequantize();
    op.inputs = {quantized_.at(id)};
    op.outputs = {real};
    result_.ops.push_back(std::move(op));
    float_[id] = real;
    return real;
  }

  // Tensors inside the graph change type where they are, those at its border
  // get a second one.
  TensorId QuantizedResult(TensorId id) {
    if (is_output_.contains(id)) return AddQuantized(id);
    result_.tensors[id].type = v1::INT8;
    result_.tensors[id].quantization = QuantizationOf(id);
    quantized_[id] = id;
    return id;
  }

  std::string BorderId(absl::string_view prefix, TensorId id) {
    return names_.OpId(absl::StrCat(
        prefix, LayerIdMaker().Make(source_.tensors[id].name, "tensor")));
  }

  void KeepFloat(const Op& op) {
    Op kept = op;
    for (TensorId& input : kept.inputs) input = Real(input);
    for (const TensorId output : op.outputs) {
      if (output != kNoTensor) float_[output] = output;
    }
    result_.ops.push_back(std::move(kept));
  }

  absl::Status QuantizeOp(const Op& op) {
    Op quantized = op;
    const int axis = WeightAxis(op);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!IsFloat(op.inputs[i]) || (axis >= 0 && i > 0)) continue;
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
    const bool has_bias = op.inputs.size() > 2 && op.inputs[2] != kNoTensor;
    if (form_only_) {
      SetWeightForm(weights, axis, HasOneScale(op),
                    has_bias ? &source_.tensors[op.inputs[2]] : nullptr,
                    quantized);
      return absl::OkStatus();
    }
    const std::vector<float> values = *FloatConstantValues(weights);
    std::vector<float> bias;
    if (has_bias) bias = *FloatConstantValues(source_.tensors[op.inputs[2]]);
    if (!AllFinite(values) || !AllFinite(bias)) {
      return Unsupported(op, "the weights or the bias hold infinity or NaN",
                         "finite weights", "train or export again");
    }
    int64_t inner = 1;
    for (size_t i = axis + 1; i < weights.shape.size(); ++i) {
      inner *= weights.shape[i];
    }
    QuantizedWeights integers = QuantizeWeights(
        values, weights.shape[axis], inner, bias,
        QuantizationOf(op.inputs[0]).scale[0], axis, HasOneScale(op), rules_);
    quantized.inputs[1] =
        AddConstant(weights, v1::INT8, std::move(integers.weights),
                    ConstantData(std::move(integers.weight_data)));
    if (has_bias) {
      quantized.inputs[2] = AddConstant(
          source_.tensors[op.inputs[2]], v1::INT32, std::move(integers.bias),
          ConstantData(std::move(integers.bias_data)));
    }
    return absl::OkStatus();
  }

  bool HasOneScale(const Op& op) const {
    return per_tensor_.contains(op.kind());
  }

  // Ops with the same weights share their form: should a mask keep them all
  // float, they have one constant, too.
  void SetWeightForm(const Tensor& weights, int axis, bool one_scale,
                     const Tensor* bias, Op& quantized) {
    const auto count =
        one_scale ? size_t{1} : static_cast<size_t>(weights.shape[axis]);
    Quantization scales = {.scale = std::vector<float>(count, 1.0f / 128),
                           .zero_point = std::vector<int32_t>(count, 0),
                           .axis = axis};
    quantized.inputs[1] = ConstantForm(weights, v1::INT8, scales, 1);
    if (bias == nullptr) return;
    scales.axis = 0;
    quantized.inputs[2] = ConstantForm(*bias, v1::INT32, std::move(scales), 4);
  }

  TensorId ConstantForm(const Tensor& source, v1::ElementType type,
                        Quantization scales, int64_t element_bytes) {
    const auto [form, is_new] = forms_.try_emplace(
        {source.name, type, scales.axis, scales.scale.size()}, kNoTensor);
    if (is_new) {
      form->second = AddConstant(
          source, type, std::move(scales),
          FormOf(source.data, element_bytes * source.num_elements()));
    }
    return form->second;
  }

  TensorId AddConstant(const Tensor& like, v1::ElementType type,
                       Quantization quantization, ConstantData data) {
    Tensor tensor = like;
    tensor.name = names_.TensorName(absl::StrCat(like.name, ".int"));
    tensor.type = type;
    tensor.quantization = std::move(quantization);
    tensor.data = std::move(data);
    return AddTensor(std::move(tensor));
  }

  const Graph& source_;
  const std::set<std::string, std::less<>> per_tensor_;  // Kinds of ops.
  const ScaleRules rules_;
  const v1::CalibrationStatistics* const statistics_;
  const bool form_only_;
  const std::vector<bool> integer_;  // By op.
  TensorQuantizations quantizations_;
  FreshNames names_;
  std::vector<TensorId> float_;  // By tensor: its real values; none yet.
  std::set<TensorId> is_output_;
  std::map<TensorId, TensorId> quantized_;  // Float tensor -> int8 tensor.
  // Quantized weights and biases, by float tensor, type, axis and number of
  // scales.
  std::map<std::tuple<std::string, v1::ElementType, int32_t, size_t>, TensorId>
      forms_;
  Graph result_;
};

}  // namespace

absl::StatusOr<Graph> QuantizeGraph(const Graph& float_graph,
                                    const v1::CalibrationStatistics& statistics,
                                    const v1::QuantizationNeeds& needs) {
  return Quantizer(float_graph, &statistics, needs).Run();
}

absl::StatusOr<Graph> QuantizedForm(const Graph& float_graph,
                                    const v1::QuantizationNeeds& needs) {
  return Quantizer(float_graph, nullptr, needs).Run();
}

}  // namespace edgekiln::compiler
