#include "compiler/frontend/onnx/builder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "compiler/passes/graph_edit.h"

namespace edgekiln::compiler::onnx_import {

Builder::Builder(std::string graph_name, std::set<std::string> reserved,
                 int64_t model_bytes)
    : names_(std::move(reserved)),
      max_made_constant_bytes_(MaxMadeConstantBytes(model_bytes)),
      folding_budget_(max_made_constant_bytes_),
      pool_(model_bytes) {
  graph_.name = std::move(graph_name);
  scopes_.emplace_back();
}

TensorId Builder::AddTensor(Tensor tensor, bool named) {
  graph_.tensors.push_back(std::move(tensor));
  named_.push_back(named);
  producer_.push_back(-1);
  read_.push_back(false);
  return static_cast<TensorId>(graph_.tensors.size()) - 1;
}

void Builder::AddOp(Op op) {
  for (const TensorId input : op.inputs) {
    if (input != kNoTensor) read_[input] = true;
  }
  for (const TensorId output : op.outputs) {
    producer_[output] = static_cast<int32_t>(graph_.ops.size());
  }
  graph_.ops.push_back(std::move(op));
}

std::string Builder::UniqueName(absl::string_view wanted) {
  std::string name(wanted);
  if (names_.insert(name).second) return name;
  int& count = name_counts_.try_emplace(name, 1).first->second;
  do {
    name = absl::StrCat(wanted, "-", ++count);
  } while (!names_.insert(name).second);
  return name;
}

std::string Builder::OpId(const Node& node, absl::string_view role) {
  const std::string key = absl::StrCat(prefix(), node.main_output());
  if (key != current_node_) {
    current_node_ = key;
    current_id_ = layer_ids_.Make(
        node.name(), absl::StrCat(node.op_type(), "_", node.main_output()));
  }
  if (role.empty()) return current_id_;
  return layer_ids_.Make(absl::StrCat(current_id_, ".", role), "op");
}

absl::Status Builder::AddGraphInput(absl::string_view name,
                                    v1::ElementType type,
                                    std::vector<int64_t> shape) {
  Tensor tensor;
  tensor.name = std::string(name);
  tensor.type = type;
  tensor.shape = std::move(shape);
  if (!IsSaneShape(tensor.shape)) {
    return ImpossibleShape(tensor.shape,
                           absl::StrCat("graph input '", name, "'"),
                           "export with a smaller input");
  }
  const TensorId id = AddTensor(std::move(tensor), /*named=*/true);
  graph_.inputs.push_back(id);
  scopes_.back().values[std::string(name)] = id;
  return absl::OkStatus();
}

absl::Status Builder::AddInitializer(Tensor constant) {
  const std::string name = constant.name;
  if (scopes_.back().values.contains(name)) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.fault = Fault::kUser,
                      .reason = "MODEL_INVALID",
                      .what = "two initializers have one name",
                      .where = absl::StrCat("tensor '", name, "'"),
                      .fix = "give every initializer a name of its own"});
  }
  TensorId id = kNoTensor;
  if (scopes_.size() == 1) {
    id = AddTensor(std::move(constant), /*named=*/true);
  } else {
    constant.name = absl::StrCat(prefix(), constant.name);
    id = AddConstant(std::move(constant));
  }
  scopes_.back().values[name] = id;
  return absl::OkStatus();
}

std::optional<TensorId> Builder::Find(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->values.find(name);
    if (found != scope->values.end()) return found->second;
    if (!scope->sees_outer) break;
  }
  return std::nullopt;
}

bool Builder::HasValue(const std::string& name) const {
  return Find(name).has_value();
}

TensorId Builder::value(const std::string& name) const {
  return Find(name).value_or(kNoTensor);
}

void Builder::PushScope(absl::string_view prefix, bool sees_outer) {
  Scope scope;
  scope.prefix = absl::StrCat(scopes_.back().prefix, prefix, "/");
  scope.sees_outer = sees_outer;
  scopes_.push_back(std::move(scope));
}

void Builder::PopScope() { scopes_.pop_back(); }

absl::Status Builder::Define(const Node& node, const std::string& name,
                             TensorId id) {
  if (scopes_.back().values.emplace(name, id).second) return absl::OkStatus();
  return node.Invalid(absl::StrCat("'", name, "' has been made before"));
}

absl::StatusOr<TensorId> Builder::Input(const Node& node, int index) const {
  if (!node.has_input(index)) {
    return node.Invalid(absl::StrCat("input ", index, " is missing"));
  }
  const std::optional<TensorId> found = Find(node.input(index));
  if (!found.has_value()) {
    return node.Invalid(absl::StrCat("nothing before this node makes input '",
                                     node.input(index), "'"));
  }
  return *found;
}

absl::StatusOr<TensorId> Builder::PlainInput(const Node& node, int index) {
  EK_ASSIGN_OR_RETURN(const TensorId id, Input(node, index));
  return Unquantized(node, absl::StrCat("bare-", index), id);
}

absl::StatusOr<TensorId> Builder::FloatInput(const Node& node, int index) {
  EK_ASSIGN_OR_RETURN(const TensorId id, Input(node, index));
  const v1::ElementType type = tensor(id).type;
  if (!IsFloat(type)) {
    return node.Unsupported(
        absl::StrCat("input ", index, " '", node.input(index), "' is ",
                     v1::ElementType_Name(type)),
        "FLOAT16, FLOAT32 or FLOAT64", "export the model with float tensors");
  }
  return id;
}

// Names of the graph inputs that `id` is computed from, for messages.
std::string Builder::GraphInputsBehind(TensorId id) const {
  std::vector<bool> seen(graph_.tensors.size(), false);
  std::vector<TensorId> open = {id};
  std::vector<std::string> names;
  while (!open.empty()) {
    const TensorId at = open.back();
    open.pop_back();
    if (at == kNoTensor || seen[at]) continue;
    seen[at] = true;
    if (producer_[at] >= 0) {
      const Op& op = graph_.ops[producer_[at]];
      open.insert(open.end(), op.inputs.begin(), op.inputs.end());
    } else if (!tensor(at).is_constant()) {
      names.push_back(tensor(at).name);
    }
  }
  constexpr size_t kMaxNamed = 8;
  if (names.size() > kMaxNamed) names.resize(kMaxNamed);
  std::string flags;
  for (const std::string& name : names) {
    absl::StrAppend(&flags, " --bind-input '", name, "=FILE'");
  }
  return flags;
}

absl::StatusOr<const Tensor*> Builder::ConstantInput(const Node& node,
                                                     int index) const {
  EK_ASSIGN_OR_RETURN(const TensorId id, Input(node, index));
  if (tensor(id).is_constant()) return &tensor(id);
  const std::string flags = GraphInputsBehind(id);
  return node.Unsupported(
      absl::StrCat("input ", index, " '", node.input(index),
                   "' is computed at run time"),
      "a constant, or arithmetic over constants and static shapes",
      flags.empty()
          ? "export with static shapes and constant folding"
          : absl::StrCat("export with static shapes and constant folding, or "
                         "fix what it is computed from:",
                         flags));
}

absl::StatusOr<std::vector<int64_t>> Builder::ConstantIntegers(
    const Node& node, int index) const {
  EK_ASSIGN_OR_RETURN(const Tensor* constant, ConstantInput(node, index));
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> values, IntegerValues(*constant),
                      node.Label());
  return values;
}

absl::StatusOr<double> Builder::ConstantNumber(const Node& node,
                                               int index) const {
  EK_ASSIGN_OR_RETURN(const Tensor* constant, ConstantInput(node, index));
  EK_ASSIGN_OR_RETURN(const std::vector<double> values, Numbers(*constant),
                      node.Label());
  if (values.size() == 1) return values[0];
  return node.Invalid(absl::StrCat("input ", index, " '", node.input(index),
                                   "' has ", values.size(),
                                   " values, not one"));
}

TensorId Builder::AddConstant(Tensor constant) {
  if (constant.data.is_sole()) {  // Neither in the file nor made before.
    made_constant_bytes_ += static_cast<int64_t>(constant.data->size());
  }
  constant.name = UniqueName(constant.name);
  return AddTensor(std::move(constant), /*named=*/true);
}

TensorId Builder::AddCopy(absl::string_view name, TensorId source) {
  Tensor copy = tensor(source);
  copy.name = std::string(name);
  copy.data = {};
  const TensorId id = AddTensor(std::move(copy), /*named=*/true);
  Op op;
  op.id = layer_ids_.Make(absl::StrCat("copy_", name), "copy");
  op.attributes.mutable_reshape();
  op.inputs = {source};
  op.outputs = {id};
  AddOp(std::move(op));
  return id;
}

absl::Status Builder::Bind(const Node& node, int output, TensorId id) {
  if (!node.has_output(output)) return absl::OkStatus();
  const std::string& name = node.output(output);
  if (scopes_.back().values.contains(name)) {
    return node.Invalid(
        absl::StrCat("output '", name, "' has been made before"));
  }
  if (scopes_.size() == 1 && !tensor(id).is_constant()) {
    if (named_[id]) {
      id = AddCopy(name, id);
    } else {
      graph_.tensors[id].name = name;
      named_[id] = true;
    }
  }
  scopes_.back().values[name] = id;
  return absl::OkStatus();
}

TensorId Builder::AddOutputCopy(const std::string& name, TensorId source) {
  if (tensor(source).name != name) return AddCopy(name, source);
  if (tensor(source).is_constant()) {
    graph_.tensors[source].name = UniqueName(absl::StrCat(name, ".value"));
    return AddCopy(name, source);
  }
  // The input itself, or an output given twice: the name is taken.
  return AddCopy(UniqueName(absl::StrCat(name, ".output")), source);
}

void Builder::RemoveDeadOps() {
  std::vector<bool> needed(graph_.tensors.size(), false);
  for (const TensorId id : graph_.outputs) needed[id] = true;
  std::vector<Op> kept;
  for (auto op = graph_.ops.rbegin(); op != graph_.ops.rend(); ++op) {
    if (std::none_of(op->outputs.begin(), op->outputs.end(),
                     [&needed](TensorId id) { return needed[id]; })) {
      continue;
    }
    for (const TensorId id : op->inputs) {
      if (id != kNoTensor) needed[id] = true;
    }
    kept.push_back(std::move(*op));
  }
  std::reverse(kept.begin(), kept.end());
  graph_.ops = std::move(kept);
}

void Builder::Keep(Tensor& tensor) {
  if (!tensor.data.is_borrowed()) return;
  const absl::string_view borrowed = *tensor.data;
  ConstantData& kept = kept_[{borrowed.data(), borrowed.size()}];
  if (!kept.has_value()) {
    ConstantPool::Room room = pool_.Allocate(std::ssize(borrowed));
    std::copy(borrowed.begin(), borrowed.end(), room.bytes);
    kept = std::move(room.data);
  }
  tensor.data = kept;
}

absl::StatusOr<Graph> Builder::Finish(absl::Span<const std::string> outputs) {
  for (const std::string& name : outputs) {
    TensorId id = value(name);
    const auto is = [id](TensorId other) { return other == id; };
    if (tensor(id).is_constant() || tensor(id).name != name ||
        std::any_of(graph_.inputs.begin(), graph_.inputs.end(), is) ||
        std::any_of(graph_.outputs.begin(), graph_.outputs.end(), is)) {
      id = AddOutputCopy(name, id);
    }
    graph_.outputs.push_back(id);
  }
  RemoveDeadOps();
  RemoveUnusedTensors(graph_);
  for (Tensor& tensor : graph_.tensors) Keep(tensor);
  return std::move(graph_);
}

}  // namespace edgekiln::compiler::onnx_import
