#include "compiler/frontend/tflite/graph_builder.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/tensor_views.h"
#include "ops/evaluate.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler::tflite_import {
namespace {

// More inputs than any op of a real model has.
constexpr size_t kMaxOperands = 1024;
// Some operators become many ops.
constexpr size_t kMaxOps = 1 << 16;

// Ops whose cost is that of touching their inputs and outputs once.
bool IsCheap(v1::OpAttributes::OpCase op) {
  switch (op) {
    case v1::OpAttributes::kReshape:
    case v1::OpAttributes::kTranspose:
    case v1::OpAttributes::kConcat:
    case v1::OpAttributes::kSlice:
    case v1::OpAttributes::kGather:
    case v1::OpAttributes::kPad:
    case v1::OpAttributes::kTile:
    case v1::OpAttributes::kBroadcastTo:
    case v1::OpAttributes::kCast:
    case v1::OpAttributes::kQuantize:
    case v1::OpAttributes::kDequantize:
    case v1::OpAttributes::kUnary:
    case v1::OpAttributes::kBinary:
    case v1::OpAttributes::kAdd:
    case v1::OpAttributes::kMul:
    case v1::OpAttributes::kClip:
    case v1::OpAttributes::kSelect:
    case v1::OpAttributes::kReduce:
      return true;
    default:
      return false;
  }
}

int64_t BytesOf(const Tensor& tensor) {
  return tensor.num_elements() * ElementBytes(tensor.type);
}

bool IsZero(const Tensor& constant) {
  const int zero = constant.quantization.has_value()
                       ? constant.quantization->zero_point[0]
                       : 0;
  // A state of more than a byte that starts elsewhere than 0 has zero point 0.
  const char byte = BytesOf(constant) == constant.num_elements()
                        ? static_cast<char>(zero)
                        : '\0';
  return std::all_of(constant.data->begin(), constant.data->end(),
                     [&](char c) { return c == byte; });
}

void Mark(const std::vector<TensorId>& ids, std::vector<bool>& used) {
  for (const TensorId id : ids) {
    if (id != kNoTensor) used[id] = true;
  }
}

void Renumber(const std::vector<TensorId>& to, std::vector<TensorId>& ids) {
  for (TensorId& id : ids) {
    if (id != kNoTensor) id = to[id];
  }
}

}  // namespace

GraphBuilder::GraphBuilder(TfliteModelReader reader)
    : reader_(std::move(reader)),
      ids_(reader_.num_tensors(), kNoTensor),
      is_output_(reader_.num_tensors(), false) {
  const tflite::SubGraph& subgraph = reader_.subgraph();
  if (subgraph.name() != nullptr) {
    graph_.name = SanitizeText(subgraph.name()->str(), 256);
  }
  if (subgraph.outputs() == nullptr) return;
  for (const int32_t index : *subgraph.outputs()) {
    if (index >= 0 && index < reader_.num_tensors()) is_output_[index] = true;
  }
}

TensorId GraphBuilder::Add(Tensor tensor, bool open) {
  defined_.push_back(tensor.is_constant());
  open_.push_back(open);
  keeps_name_.push_back(false);
  graph_.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(graph_.tensors.size()) - 1;
}

absl::StatusOr<std::vector<TensorId>> GraphBuilder::Operands(
    const flatbuffers::Vector<int32_t>* indices) {
  std::vector<TensorId> ids;
  if (indices == nullptr) return ids;
  if (indices->size() > kMaxOperands) {
    return TfliteUnsupported(absl::StrCat(indices->size(), " operands"), "",
                             absl::StrCat(kMaxOperands), "split the op");
  }
  // Many operators may share one list.
  EK_RETURN_IF_ERROR(reader_.Spend(indices->size() * sizeof(TensorId)));
  for (const int32_t index : *indices) {
    EK_RETURN_IF_ERROR(reader_.CheckTensorIndex(index, /*optional=*/true));
    if (index == -1) {
      ids.push_back(kNoTensor);
      continue;
    }
    if (ids_[index] == kNoTensor) {
      EK_ASSIGN_OR_RETURN(Tensor tensor, reader_.ReadTensor(index));
      ids_[index] = Add(std::move(tensor), reader_.OpenDimension(index) >= 0);
      keeps_name_.back() = is_output_[index];
    }
    ids.push_back(ids_[index]);
  }
  return ids;
}

absl::Status GraphBuilder::AddInputs() {
  EK_ASSIGN_OR_RETURN(graph_.inputs, Operands(reader_.subgraph().inputs()),
                      "graph inputs");
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    const TensorId id = graph_.inputs[i];
    if (id == kNoTensor) return TfliteBroken("absent graph input", "inputs");
    const auto index =
        reader_.subgraph().inputs()->Get(static_cast<uint32_t>(i));
    const int64_t open = reader_.OpenDimension(index);
    // Writers store 1 for what is open; elsewhere than at the batch that is no
    // network anybody means.
    if (open > 0 && open < std::ssize(tensor(id).shape) &&
        tensor(id).shape[open] <= 1) {
      return TfliteUnsupported(
          absl::StrCat("dimension ", open, " of input '",
                       SanitizeText(tensor(id).name, 80),
                       "' has no fixed extent"),
          "graph inputs", "static shapes; an open batch (dimension 0) is 1",
          "export the model with a fixed input shape");
    }
    EK_RETURN_IF_ERROR(Define(id), "graph inputs");
  }
  return absl::OkStatus();
}

absl::Status GraphBuilder::AddOutputs() {
  EK_ASSIGN_OR_RETURN(graph_.outputs, Operands(reader_.subgraph().outputs()),
                      "graph outputs");
  if (graph_.outputs.empty()) {
    return TfliteBroken("model without outputs", "subgraph 0");
  }
  for (const StateTensor& state : states_) {
    graph_.outputs.push_back(state.current);
    graph_.states.push_back({state.input, state.current});
  }
  return absl::OkStatus();
}

void GraphBuilder::SetShape(TensorId id, std::vector<int64_t> shape) {
  graph_.tensors[id].shape = std::move(shape);
}

TensorId GraphBuilder::AddTensor(std::string name, const Tensor& like,
                                 std::vector<int64_t> shape) {
  Tensor tensor;
  tensor.name = reader_.UniqueName(std::move(name));
  tensor.type = like.type;
  tensor.quantization = like.quantization;
  tensor.shape = std::move(shape);
  return Add(std::move(tensor), /*open=*/false);
}

absl::StatusOr<TensorId> GraphBuilder::AddConstant(std::string name,
                                                   const Tensor& like,
                                                   std::vector<int64_t> shape,
                                                   std::string data) {
  EK_RETURN_IF_ERROR(reader_.Spend(std::ssize(data)));
  const TensorId id = AddTensor(std::move(name), like, std::move(shape));
  graph_.tensors[id].data = ConstantData(std::move(data));
  defined_[id] = true;
  return id;
}

absl::Status GraphBuilder::Define(TensorId id) {
  if (defined_[id]) {
    return TfliteBroken(
        absl::StrCat("tensor '", SanitizeText(tensor(id).name, 80),
                     "' has two definitions"),
        "", "one producer, constant or graph input");
  }
  defined_[id] = true;
  return absl::OkStatus();
}

bool GraphBuilder::CanFold(const Op& op) const {
  if (!IsCheap(op.attributes.op_case()) || op.outputs.size() != 1 ||
      keeps_name_[op.outputs[0]]) {
    return false;
  }
  int64_t cost = BytesOf(tensor(op.outputs[0]));
  for (const TensorId id : op.inputs) {
    if (id == kNoTensor) continue;
    if (!tensor(id).is_constant()) return false;
    cost += BytesOf(tensor(id));
  }
  return op.attributes.has_reshape() || reader_.CanSpend(cost);
}

absl::Status GraphBuilder::Fold(const Op& op) {
  Tensor& output = graph_.tensors[op.outputs[0]];
  if (op.attributes.has_reshape()) {
    output.data = tensor(op.inputs[0]).data;
    return absl::OkStatus();
  }
  int64_t cost = BytesOf(output);
  for (const TensorId id : op.inputs) {
    if (id != kNoTensor) cost += BytesOf(tensor(id));
  }
  EK_RETURN_IF_ERROR(reader_.Spend(cost));
  std::string data(static_cast<size_t>(BytesOf(output)), '\0');
  const ops::TensorView type = ViewOf(output);
  EK_RETURN_IF_ERROR(
      ops::Evaluate(op.attributes, ViewsOf(graph_, op.inputs),
                    {ops::MutableTensorView{type.type, type.shape, data.data(),
                                            type.quantization}}));
  output.data = ConstantData(std::move(data));
  return absl::OkStatus();
}

absl::Status GraphBuilder::Append(Op op, absl::string_view fallback_id) {
  for (const TensorId id : op.inputs) {
    if (id == kNoTensor || defined_[id]) continue;
    return TfliteBroken(
        absl::StrCat("tensor '", SanitizeText(tensor(id).name, 80),
                     "' is used before it is defined"),
        "",
        "ops in the order of their data; variable tensors at "
        "ops that keep a state only");
  }
  EK_RETURN_IF_ERROR(ops::CheckOp(op.attributes, ViewsOf(graph_, op.inputs),
                                  ViewsOf(graph_, op.outputs)));
  for (const TensorId id : op.outputs) EK_RETURN_IF_ERROR(Define(id));
  if (CanFold(op)) return Fold(op);
  if (graph_.ops.size() == kMaxOps) {
    return TfliteUnsupported("too many ops", "", absl::StrCat(kMaxOps),
                             "split the model");
  }
  op.id = layer_ids_.Make(
      op.name, absl::StrCat(std::string(op.kind()), "_", fallback_id));
  graph_.ops.push_back(std::move(op));
  return absl::OkStatus();
}

absl::Status GraphBuilder::ReadState(TensorId id) {
  for (const StateTensor& state : states_) {
    if (state.current == id) return absl::OkStatus();
  }
  Tensor& tensor = graph_.tensors[id];
  if (tensor.is_constant()) {
    if (!IsZero(tensor)) {
      return TfliteUnsupported(
          absl::StrCat("state '", SanitizeText(tensor.name, 80),
                       "' starts with other values than 0"),
          "", "states that start at 0", "export without an initial state");
    }
    tensor.data = {};
    defined_[id] = false;
  }
  const auto& inputs = graph_.inputs;
  if (std::find(inputs.begin(), inputs.end(), id) == inputs.end()) {
    EK_RETURN_IF_ERROR(Define(id));
    graph_.inputs.push_back(id);
  }
  states_.push_back({id, id});
  return absl::OkStatus();
}

void GraphBuilder::WriteState(TensorId state, TensorId next) {
  for (StateTensor& known : states_) {
    if (known.current == state) known.current = next;
  }
  // Ops that read the variable from here on see the new value.
  std::replace(ids_.begin(), ids_.end(), state, next);
}

// Shapes, axes and paddings have become attributes.
void GraphBuilder::DropUnused() {
  std::vector<bool> used(graph_.tensors.size(), false);
  Mark(graph_.inputs, used);
  Mark(graph_.outputs, used);
  for (const Op& op : graph_.ops) {
    Mark(op.inputs, used);
    Mark(op.outputs, used);
  }
  std::vector<TensorId> to(graph_.tensors.size(), kNoTensor);
  std::vector<Tensor> kept;
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    to[i] = static_cast<TensorId>(kept.size());
    kept.push_back(std::move(graph_.tensors[i]));
  }
  graph_.tensors = std::move(kept);
  Renumber(to, graph_.inputs);
  Renumber(to, graph_.outputs);
  for (Op& op : graph_.ops) {
    Renumber(to, op.inputs);
    Renumber(to, op.outputs);
  }
  for (State& state : graph_.states) {
    state.input = to[state.input];
    state.output = to[state.output];
  }
}

absl::StatusOr<Graph> GraphBuilder::Finish() {
  DropUnused();
  EK_RETURN_IF_ERROR(VerifyGraph(graph_), "TensorFlow Lite model");
  return std::move(graph_);
}

}  // namespace edgekiln::compiler::tflite_import
