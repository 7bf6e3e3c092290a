#include "compiler/export/op_writer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/ir/layer_id.h"
#include "compiler/passes/clamps.h"

namespace edgekiln::compiler::onnx_export {
namespace {

bool IsMaxPool(const Op& op) {
  return op.attributes.has_max_pool2d() ||
         op.attributes.pool().function() == v1::Pool::MAXIMUM;
}

}  // namespace

OpWriter::OpWriter(const Graph& graph, const Op& op, OnnxModel& model,
                   Values& values)
    : graph_(graph),
      op_(op),
      model_(model),
      values_(values),
      attributes_(op.attributes),
      data_inputs_(std::min(DataInputs(op), op.inputs.size())) {}

void OpWriter::ChooseOrder() {
  for (size_t i = 0; i < data_inputs_; ++i) {
    if (op_.inputs[i] == kNoTensor || input(i).is_constant()) continue;
    const Order order = values_.OrderOf(op_.inputs[i]);
    if (!IsAsStated(order) && ChooseOrder(order)) return;
  }
}

bool OpWriter::ChooseOrder(const Order& order) {
  for (size_t i = 0; i < data_inputs_; ++i) {
    if (op_.inputs[i] == kNoTensor) return false;
    const Tensor& tensor = input(i);
    const bool fits = tensor.is_constant() && Broadcasts(op_)
                          ? tensor.shape.size() <= order.size()
                          : tensor.shape.size() == order.size();
    if (!fits) return false;
  }
  std::optional<MovedOp> moved = MoveInFront(graph_, op_, order);
  if (!moved.has_value()) return false;
  for (size_t i = 0; i < op_.outputs.size(); ++i) {
    if (output(i).shape.size() != moved->behind.size()) return false;
  }
  attributes_ = std::move(moved->attributes);
  out_order_ = std::move(moved->behind);
  order_ = order;
  return true;
}

void OpWriter::ChooseChannelsFirst() {
  order_ = ChannelsFirst(input(0).shape.size());
  out_order_ = ChannelsFirst(output().shape.size());
}

Order OpWriter::order() const {
  return order_.empty() ? AsStated(input(0).shape.size()) : order_;
}

std::string OpWriter::In(size_t i) {
  if (!has_input(i)) return "";
  if (i >= data_inputs_ || order_.empty()) return values_.Real(op_.inputs[i]);
  return values_.Real(op_.inputs[i], order_);
}

Order OpWriter::OrderOfOutput(size_t i) const {
  return out_order_.empty() ? AsStated(output(i).shape.size()) : out_order_;
}

std::string OpWriter::Bias() {
  const TensorId bias = op_.inputs[2];
  const std::optional<Quantization>& weights = input(1).quantization;
  const std::optional<Quantization>& x = input(0).quantization;
  if (!input(2).is_constant() || input(2).type != v1::INT32 ||
      !weights.has_value() || !x.has_value()) {
    return values_.Real(bias);
  }
  return values_.Bias(bias, x->scale[0], *weights);
}

// So that the importer makes the same layer id of it.
std::string OpWriter::NodeName() const {
  const bool is_source =
      !op_.name.empty() && LayerIdMaker().Make(op_.name, "layer") == op_.id;
  return is_source ? op_.name : op_.id;
}

std::string OpWriter::Role(absl::string_view role) const {
  return absl::StrCat(op_.id, ".", role);
}

onnx::NodeProto& OpWriter::AddStep(absl::string_view role,
                                   absl::string_view type,
                                   absl::Span<const std::string> inputs) {
  return model_.AddHelper(op_.id, role, type, inputs,
                          model_.FreshValue(Role(role)));
}

std::string OpWriter::Step(absl::string_view role, absl::string_view type,
                           absl::Span<const std::string> inputs) {
  return AddStep(role, type, inputs).output(0);
}

void OpWriter::Clamped(const v1::Clamp& clamp, const std::string& from,
                       const std::string& to) {
  if (clamp.has_min() && clamp.min() == 0 && !clamp.has_max()) {
    model_.AddHelper(op_.id, "relu", "Relu", {from}, to);
    return;
  }
  std::vector<std::string> inputs = {
      from, clamp.has_min() ? Scalar("min", clamp.min()) : ""};
  if (clamp.has_max()) inputs.push_back(Scalar("max", clamp.max()));
  model_.AddHelper(op_.id, "clip", "Clip", inputs, to);
}

onnx::NodeProto& OpWriter::MainInTwo(absl::string_view first,
                                     absl::Span<const std::string> first_inputs,
                                     absl::string_view role,
                                     absl::string_view last,
                                     std::vector<std::string> inputs) {
  const std::string between = model_.FreshValue(Role("first"));
  onnx::NodeProto& node =
      model_.AddNode(NodeName(), first, first_inputs, {between});
  inputs.insert(inputs.begin(), between);
  AddMain(role, last, inputs, v1::ELEMENT_TYPE_UNSPECIFIED);
  return node;
}

onnx::NodeProto& OpWriter::AddMain(absl::string_view role,
                                   absl::string_view type,
                                   absl::Span<const std::string> inputs,
                                   v1::ElementType made) {
  // A Clip is its own clamp.
  const v1::Clamp* clamp =
      op_.attributes.has_clip() ? nullptr : ClampOf(op_.attributes);
  const bool clamps = clamp != nullptr && HasBounds(*clamp);
  // What the main node makes, and what QuantizeLinear or the readers read.
  std::vector<std::string> first;
  std::vector<std::string> last;
  for (size_t i = 0; i < op_.outputs.size(); ++i) {
    const Tensor& tensor = output(i);
    last.push_back(
        tensor.quantization.has_value()
            ? model_.FreshValue(absl::StrCat(tensor.name, ".unrounded"))
            : values_.NameFor(op_.outputs[i], OrderOfOutput(i)));
    const bool casts = made != v1::ELEMENT_TYPE_UNSPECIFIED &&
                       i + 1 == op_.outputs.size() && tensor.type != made;
    first.push_back((clamps && i == 0) || casts
                        ? model_.FreshValue(absl::StrCat(tensor.name, ".whole"))
                        : last.back());
  }
  onnx::NodeProto& node =
      role.empty() ? model_.AddNode(NodeName(), type, inputs, first)
                   : model_.AddHelper(op_.id, role, type, inputs, first[0]);
  for (size_t i = 0; i < op_.outputs.size(); ++i) {
    if (clamps && i == 0) {
      // A maximum and a clamp of integers are two ops, which become one again;
      // of real values, they would become one that integers do not have.
      const bool rounds = IsMaxPool(op_) && output(i).quantization.has_value();
      Clamped(
          *clamp,
          rounds ? values_.Rounded(op_.outputs[i], op_, first[i]) : first[i],
          last[i]);
    } else if (first[i] != last[i]) {
      SetInt(model_.AddHelper(op_.id, "cast", "Cast", {first[i]}, last[i]),
             "to", OnnxTypeOf(output(i).type));
    }
    if (output(i).quantization.has_value()) {
      values_.Quantize(op_.outputs[i], op_, last[i], OrderOfOutput(i));
    } else {
      values_.SetReal(op_.outputs[i], last[i], OrderOfOutput(i));
    }
  }
  return node;
}

std::string OpWriter::Integers(absl::string_view role,
                               absl::Span<const int64_t> values) {
  return model_.AddIntegers(Role(role), values);
}

std::string OpWriter::Floats(absl::string_view role,
                             absl::Span<const float> values) {
  return model_.AddFloats(Role(role), values);
}

std::string OpWriter::Scalar(absl::string_view role, float value) {
  const std::string scalar = model_.AddScalar(Role(role), value);
  const v1::ElementType type = output().type;
  if (type != v1::FLOAT16 && type != v1::FLOAT64) return scalar;
  onnx::NodeProto& cast =
      AddStep(absl::StrCat(role, ".cast"), "Cast", {scalar});
  SetInt(cast, "to", OnnxTypeOf(type));
  return cast.output(0);
}

absl::Status OpWriter::Unsupported(absl::string_view what,
                                   absl::string_view limit,
                                   absl::string_view fix) const {
  return MakeError(
      absl::StatusCode::kUnimplemented,
      {.reason = "OP_NOT_EXPORTABLE",
       .what = absl::StrCat(what, " cannot be exported as ONNX"),
       .where = absl::StrCat("layer ", op_.id, " (", op_.kind(),
                             op_.name.empty() ? "" : ", ", op_.name, ")"),
       .limit = std::string(limit),
       .fix = std::string(fix)});
}

}  // namespace edgekiln::compiler::onnx_export
