#include "compiler/passes/graph_edit.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace edgekiln::compiler {

std::vector<int> UsesOf(const Graph& graph) {
  std::vector<int> uses(graph.tensors.size(), 0);
  for (const Op& op : graph.ops) {
    for (const TensorId id : op.inputs) {
      if (id != kNoTensor) ++uses[id];
    }
  }
  for (const TensorId id : graph.outputs) ++uses[id];
  return uses;
}

FreshNames::FreshNames(const Graph& graph) {
  for (const Tensor& tensor : graph.tensors) names_.taken.insert(tensor.name);
  for (const Op& op : graph.ops) ids_.taken.insert(op.id);
}

std::string FreshNames::Names::Make(absl::string_view wanted) {
  std::string name(wanted);
  if (taken.insert(name).second) return name;
  int& number = last.try_emplace(name, 1).first->second;
  do {
    name = absl::StrCat(wanted, "-", ++number);
  } while (!taken.insert(name).second);
  return name;
}

std::string FreshNames::TensorName(absl::string_view wanted) {
  return names_.Make(wanted);
}

std::string FreshNames::OpId(absl::string_view wanted) {
  return ids_.Make(wanted);
}

GraphEditor::GraphEditor(Graph& graph)
    : graph_(graph),
      names_(graph),
      producer_(Producers(graph)),
      uses_(UsesOf(graph)),
      readers_(Consumers(graph)),
      is_output_(graph.tensors.size(), false),
      removed_(graph.ops.size(), false) {
  for (const TensorId output : graph.outputs) is_output_[output] = true;
}

Op* GraphEditor::producer(TensorId id) {
  if (id == kNoTensor || producer_[id] < 0) return nullptr;
  return &graph_.ops[producer_[id]];
}

TensorId GraphEditor::AddTensor(Tensor tensor) {
  tensor.name = names_.TensorName(tensor.name);
  graph_.tensors.push_back(std::move(tensor));
  producer_.push_back(-1);
  uses_.push_back(0);
  readers_.emplace_back();
  is_output_.push_back(false);
  return static_cast<TensorId>(graph_.tensors.size()) - 1;
}

void GraphEditor::SetInput(int32_t op, int index, TensorId id) {
  std::vector<TensorId>& inputs = graph_.ops[op].inputs;
  if (index == static_cast<int>(inputs.size())) inputs.push_back(kNoTensor);
  if (inputs[index] != kNoTensor) --uses_[inputs[index]];
  inputs[index] = id;
  if (id != kNoTensor) {
    ++uses_[id];
    readers_[id].push_back(op);
  }
  edited_ = true;
}

void GraphEditor::DropInputsFrom(int32_t op, int first) {
  std::vector<TensorId>& inputs = graph_.ops[op].inputs;
  for (size_t i = first; i < inputs.size(); ++i) {
    if (inputs[i] != kNoTensor) --uses_[inputs[i]];
  }
  inputs.resize(first);
  edited_ = true;
}

void GraphEditor::SetAttributes(int32_t op, v1::OpAttributes attributes) {
  graph_.ops[op].attributes = std::move(attributes);
  edited_ = true;
}

TensorId GraphEditor::InsertBefore(int32_t op, absl::string_view id,
                                   v1::OpAttributes attributes, TensorId input,
                                   Tensor result) {
  Op inserted;
  inserted.id = names_.OpId(id);
  inserted.name = graph_.ops[op].name;
  inserted.attributes = std::move(attributes);
  inserted.inputs = {input};
  inserted.outputs = {AddTensor(std::move(result))};
  const TensorId output = inserted.outputs[0];
  ++uses_[input];
  inserted_.emplace(op, std::move(inserted));
  edited_ = true;
  return output;
}

void GraphEditor::Remove(int32_t op) {
  for (const TensorId input : graph_.ops[op].inputs) {
    if (input != kNoTensor) --uses_[input];
  }
  removed_[op] = true;
  edited_ = true;
}

void GraphEditor::MakeInstead(int32_t op, TensorId from, TensorId to) {
  std::vector<TensorId>& outputs = graph_.ops[op].outputs;
  std::replace(outputs.begin(), outputs.end(), from, to);
  producer_[to] = op;
  producer_[from] = -1;
}

void GraphEditor::FuseIntoProducer(int32_t op) {
  const TensorId middle = graph_.ops[op].inputs[0];
  const TensorId output = graph_.ops[op].outputs[0];
  const int32_t producer = producer_[middle];
  MakeInstead(producer, middle, output);
  Remove(op);
}

void GraphEditor::MoveTo(int32_t op, TensorId gone, Op moved) {
  Remove(producer_[gone]);
  producer_[gone] = -1;
  for (const TensorId input : graph_.ops[op].inputs) {
    if (input != kNoTensor) --uses_[input];
  }
  for (const TensorId input : moved.inputs) {
    if (input == kNoTensor) continue;
    ++uses_[input];
    readers_[input].push_back(op);
  }
  graph_.ops[op] = std::move(moved);
  edited_ = true;
}

void GraphEditor::MoveReaders(TensorId from, TensorId to) {
  for (const int32_t reader : readers_[from]) {
    std::vector<TensorId>& inputs = graph_.ops[reader].inputs;
    std::replace(inputs.begin(), inputs.end(), from, to);
    readers_[to].push_back(reader);
  }
  readers_[from].clear();
  uses_[to] += uses_[from];
  uses_[from] = 0;
}

bool GraphEditor::ReplaceByInput(int32_t op, TensorId replacement) {
  const TensorId output = graph_.ops[op].outputs[0];
  if (is_graph_output(output)) {
    // The output's tensor must stay: the replacement's producer makes it.
    const int32_t producer = producer_[replacement];
    if (producer < 0 || is_graph_output(replacement) ||
        graph_.tensors[output].shape != graph_.tensors[replacement].shape) {
      return false;
    }
    Remove(op);
    MakeInstead(producer, replacement, output);
    MoveReaders(replacement, output);
    return true;
  }
  Remove(op);
  MoveReaders(output, replacement);
  return true;
}

bool GraphEditor::Finish() {
  std::vector<Op> kept;
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    const auto [first, last] = inserted_.equal_range(static_cast<int32_t>(i));
    for (auto op = first; op != last; ++op) {
      kept.push_back(std::move(op->second));
    }
    if (!removed_[i]) kept.push_back(std::move(graph_.ops[i]));
  }
  graph_.ops = std::move(kept);
  return edited_;
}

bool IsConstantLike(GraphEditor& editor, TensorId id) {
  while (id != kNoTensor && !editor.tensor(id).is_constant()) {
    const Op* op = editor.producer(id);
    if (op == nullptr ||
        !(op->attributes.has_dequantize() || op->attributes.has_transpose() ||
          op->attributes.has_reshape())) {
      return false;
    }
    id = op->inputs[0];
  }
  return id != kNoTensor;
}

std::optional<std::vector<float>> FloatConstantValues(const Tensor& tensor) {
  if (!tensor.is_constant() || tensor.type != v1::FLOAT32) return std::nullopt;
  std::vector<float> values(tensor.data->size() / sizeof(float));
  if (values.empty()) return values;  // Then there is no address to copy to.
  std::memcpy(values.data(), tensor.data->data(), tensor.data->size());
  return values;
}

Tensor FloatTensorLike(const Tensor& like, std::vector<int64_t> shape,
                       absl::Span<const float> values) {
  Tensor tensor;
  tensor.name = like.name;
  tensor.type = v1::FLOAT32;
  tensor.shape = std::move(shape);
  tensor.data =
      ConstantData(std::string(reinterpret_cast<const char*>(values.data()),
                               values.size() * sizeof(float)));
  return tensor;
}

v1::OpAttributes TransposeAttributes(absl::Span<const int32_t> permutation) {
  v1::OpAttributes attributes;
  attributes.mutable_transpose()->mutable_permutation()->Assign(
      permutation.begin(), permutation.end());
  return attributes;
}

v1::OpAttributes ReshapeAttributes() {
  v1::OpAttributes attributes;
  attributes.mutable_reshape();
  return attributes;
}

bool RemoveUnusedTensors(Graph& graph) {
  std::vector<bool> used(graph.tensors.size(), false);
  const auto mark = [&used](const std::vector<TensorId>& ids) {
    for (const TensorId id : ids) {
      if (id != kNoTensor) used[id] = true;
    }
  };
  mark(graph.inputs);
  mark(graph.outputs);
  for (const Op& op : graph.ops) {
    mark(op.inputs);
    mark(op.outputs);
  }
  if (std::find(used.begin(), used.end(), false) == used.end()) return false;
  std::vector<TensorId> renumbered(graph.tensors.size(), kNoTensor);
  std::vector<Tensor> kept;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (!used[i]) continue;
    renumbered[i] = static_cast<TensorId>(kept.size());
    kept.push_back(std::move(graph.tensors[i]));
  }
  graph.tensors = std::move(kept);
  const auto renumber = [&renumbered](std::vector<TensorId>& ids) {
    for (TensorId& id : ids) {
      if (id != kNoTensor) id = renumbered[id];
    }
  };
  renumber(graph.inputs);
  renumber(graph.outputs);
  for (State& state : graph.states) {
    state = {renumbered[state.input], renumbered[state.output]};
  }
  for (Op& op : graph.ops) {
    renumber(op.inputs);
    renumber(op.outputs);
  }
  return true;
}

}  // namespace edgekiln::compiler
