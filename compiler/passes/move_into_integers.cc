// Models that carry their quantization as pairs of ops compute in the integers:
//
//   %a = dequantize(%x)
//   %b = dequantize(%w)
//   %c = conv2d(%a, %b)
//   %y = quantize(%c)         ->     %y = conv2d(%x, %w)
//
// The integer op rounds once, half to even as the Quantize did, where the float
// ops round at every step; docs/numerics.md section 7.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/passes/depthwise_average.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/integer_dot.h"
#include "compiler/passes/integer_rounding.h"
#include "compiler/passes/integer_source.h"
#include "compiler/passes/op_traits.h"
#include "compiler/passes/pass.h"
#include "ops/quantized_parameters.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

// A scalar as int8 with no error: one step of its own size.
std::optional<Tensor> ExactScalar(const Tensor& tensor) {
  const std::optional<std::vector<float>> values = FloatConstantValues(tensor);
  if (!values.has_value() || values->size() != 1) return std::nullopt;
  const float value = (*values)[0];
  const float size = std::abs(value);
  if (!(size >= std::numeric_limits<float>::min()) || std::isinf(size)) {
    return std::nullopt;
  }
  Tensor result = tensor;
  result.name = absl::StrCat(tensor.name, ".int8");
  result.type = v1::INT8;
  result.quantization =
      Quantization{.scale = {size}, .zero_point = {0}, .axis = 0};
  result.data =
      ConstantData(std::string(1, static_cast<char>(value < 0 ? -1 : 1)));
  return result;
}

// Names the activation that saturation at the ends of the type amounts to:
// nothing below 0 where 0 is the least integer, nothing above 6 where 6 is the
// largest. Changes no value.
void NameSaturation(Op& op, const Tensor& output) {
  const v1::Clamp* before = ClampOf(op.attributes);
  const ops::QuantizedRange range = ops::RangeOf(output.type);
  if (before == nullptr || before->has_min() || output.type != v1::INT8 ||
      output.quantization->zero_point[0] != range.min) {
    return;
  }
  v1::Clamp* clamp = MutableClamp(op.attributes);
  clamp->set_min(0);
  if (clamp->has_max()) return;
  constexpr float kRelu6 = 6;
  const float steps = std::round(kRelu6 / output.quantization->scale[0]);
  if (steps == static_cast<float>(range.max - range.min)) {
    clamp->set_max(kRelu6);
  }
}

class Move {
 public:
  explicit Move(Graph& graph)
      : graph_(graph),
        names_(graph),
        sources_(graph, names_),
        readers_(Consumers(graph)),
        is_output_(graph.tensors.size(), false),
        done_(graph.ops.size(), false) {
    for (const TensorId id : graph.outputs) is_output_[id] = true;
  }

  absl::StatusOr<Changed> Run() {
    for (int32_t i = 0; i < static_cast<int32_t>(graph_.ops.size()); ++i) {
      sources_.Visit(i);
      if (done_[i]) continue;  // Moved along with the op before it.
      const int32_t quantize = QuantizeBehind(graph_.ops[i]);
      if (quantize >= 0 && Convert(graph_.ops[i], graph_.ops[quantize])) {
        done_[quantize] = true;
        changed_ = true;
      } else if (graph_.ops[i].attributes.has_quantize() &&
                 Requantize(graph_.ops[i])) {
        changed_ = true;
      } else {
        ops_.push_back(graph_.ops[i]);
      }
    }
    if (!changed_) return Changed::kNo;
    graph_.ops = std::move(ops_);
    EK_RETURN_IF_ERROR(NewRemoveDeadOpsPass()->Run({}, graph_).status());
    RestoreIds();
    return Changed::kYes;
  }

 private:
  // The op that alone reads the result, if it brings it to int8 the way ONNX
  // does: its graphs mean integers by such pairs, those of TensorFlow Lite mean
  // float arithmetic.
  int32_t QuantizeBehind(const Op& op) const {
    if (op.outputs.size() != 1 || is_output_[op.outputs[0]] ||
        readers_[op.outputs[0]].size() != 1) {
      return -1;
    }
    const int32_t index = readers_[op.outputs[0]][0];
    const Op& reader = graph_.ops[index];
    const bool fits =
        reader.attributes.has_quantize() &&
        reader.attributes.rounding() == v1::HALF_EVEN &&
        graph_.tensors[op.outputs[0]].type == v1::FLOAT32 &&
        graph_.tensors[reader.outputs[0]].type == v1::INT8 &&
        !graph_.tensors[reader.outputs[0]].quantization->per_channel();
    return fits ? index : -1;
  }

  TensorId AddTensor(Tensor tensor) {
    tensor.name = names_.TensorName(tensor.name);
    graph_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }

  // Emits the op on integers; false if there is no such op.
  bool Convert(const Op& op, const Op& quantize) {
    const TensorId result = quantize.outputs[0];
    if (IsDot(op)) {
      std::optional<IntegerDot> dot =
          MakeIntegerDot(graph_, sources_, op, graph_.tensors[result]);
      if (dot.has_value()) {
        EmitDot(op, *std::move(dot), result);
        return true;
      }
    }
    const std::optional<Tensor> pooled = op.attributes.has_average_pool2d()
                                             ? sources_.TypeOf(op.inputs[0])
                                             : std::nullopt;
    if (pooled.has_value() && pooled->type == v1::INT8) {
      const AverageForm form = AverageFormOf(op.attributes.average_pool2d(),
                                             *pooled, graph_.tensors[result]);
      if (form == AverageForm::kFloat) return false;
      if (form == AverageForm::kWeighted) return EmitAverage(op, result);
    }
    return HasIntegerMeaning(op) && ConvertPlain(op, result);
  }

  void EmitDot(const Op& op, IntegerDot dot, TensorId result) {
    Op integer = op;
    integer.attributes = std::move(dot.attributes);
    integer.inputs = {sources_.Materialize(op.inputs[0], ops_),
                      AddTensor(std::move(dot.weights))};
    if (dot.bias.has_value()) {
      integer.inputs.push_back(AddTensor(*std::move(dot.bias)));
    }
    Finish(std::move(integer), result);
  }

  void Finish(Op op, TensorId result) {
    op.outputs = {result};
    NameSaturation(op, graph_.tensors[result]);
    ops_.push_back(std::move(op));
  }

  // All inputs by their integers, or constants that are integers exactly.
  bool ConvertPlain(const Op& op, TensorId result) {
    std::vector<std::optional<Tensor>> types;
    std::vector<ops::TensorView> views;
    bool from_integers = false;
    for (const TensorId id : op.inputs) {
      types.emplace_back();
      if (id == kNoTensor) continue;
      types.back() = sources_.TypeOf(id);
      from_integers = from_integers || types.back().has_value();
      if (!types.back().has_value()) {
        types.back() = ExactScalar(graph_.tensors[id]);
      }
      if (!types.back().has_value() || types.back()->type != v1::INT8) {
        return false;
      }
    }
    for (const std::optional<Tensor>& type : types) {
      views.push_back(type.has_value() ? ViewOf(*type) : ops::TensorView{});
    }
    const ops::TensorView output = ViewOf(graph_.tensors[result]);
    if (!from_integers || !ops::CheckOp(op.attributes, views, {output}).ok()) {
      return false;
    }
    Op integer = op;
    integer.attributes.set_rounding(
        IntegerRounding(op.attributes, views, output));
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == kNoTensor) continue;
      integer.inputs[i] = sources_.TypeOf(op.inputs[i]).has_value()
                              ? sources_.Materialize(op.inputs[i], ops_)
                              : AddTensor(*std::move(types[i]));
    }
    Finish(std::move(integer), result);
    return true;
  }

  bool EmitAverage(const Op& op, TensorId result) {
    auto [attributes, weights] =
        AsDepthwise(op.attributes.average_pool2d(), graph_.tensors[result]);
    Op conv = op;
    conv.attributes = std::move(attributes);
    const std::optional<Tensor> input = sources_.TypeOf(op.inputs[0]);
    const std::vector<ops::TensorView> views = {ViewOf(*input),
                                                ViewOf(weights)};
    const ops::TensorView output = ViewOf(graph_.tensors[result]);
    if (!ops::CheckOp(conv.attributes, views, {output}).ok()) return false;
    conv.attributes.set_rounding(
        IntegerRounding(conv.attributes, views, output));
    conv.inputs = {sources_.Materialize(op.inputs[0], ops_),
                   AddTensor(std::move(weights))};
    Finish(std::move(conv), result);
    return true;
  }

  // quantize(dequantize(x)): a change of scale, or x itself.
  bool Requantize(const Op& op) {
    const std::optional<Tensor> input = sources_.TypeOf(op.inputs[0]);
    const Tensor& output = graph_.tensors[op.outputs[0]];
    if (!input.has_value() || input->quantization->per_channel() ||
        output.quantization->per_channel() ||
        (input->quantization != output.quantization &&
         op.attributes.rounding() != v1::HALF_EVEN)) {
      return false;
    }
    if (!ops::CheckOp(op.attributes, {ViewOf(*input)}, {ViewOf(output)}).ok()) {
      return false;
    }
    Op change = op;
    change.inputs = {sources_.Materialize(op.inputs[0], ops_)};
    ops_.push_back(std::move(change));
    return true;
  }

  // Copies take the ids of ops that they replaced.
  void RestoreIds() {
    std::set<std::string> ids;
    for (const Op& op : graph_.ops) ids.insert(op.id);
    std::map<std::string, std::string> wanted;
    for (const auto& [copy, original] : sources_.copies()) {
      if (ids.insert(original).second) wanted[copy] = original;
    }
    for (Op& op : graph_.ops) {
      const auto found = wanted.find(op.id);
      if (found != wanted.end()) op.id = found->second;
    }
  }

  Graph& graph_;
  FreshNames names_;
  IntegerSources sources_;
  std::vector<std::vector<int32_t>> readers_;
  std::vector<bool> is_output_;
  std::vector<bool> done_;  // By op: needs no other place.
  std::vector<Op> ops_;
  bool changed_ = false;
};

class MoveIntoIntegers : public Pass {
 public:
  absl::string_view name() const override { return "move-into-integers"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    return Move(graph).Run();
  }
};

}  // namespace

std::unique_ptr<Pass> NewMoveIntoIntegersPass() {
  return std::make_unique<MoveIntoIntegers>();
}

}  // namespace edgekiln::compiler
