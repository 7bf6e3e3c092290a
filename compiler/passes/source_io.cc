// The ports of the source model, with the conversions that UseIntegerPorts()
// removes, all in front of and behind the network.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "compiler/ir/layer_id.h"
#include "compiler/passes/border_conversion.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/integer_io.h"

namespace edgekiln::compiler {
namespace {

class SourcePorts {
 public:
  explicit SourcePorts(Graph& graph) : graph_(graph), names_(graph) {}

  void Run() {
    for (const ConvertedPort& port : graph_.converted_inputs) {
      AddInput(port, graph_.inputs[port.port]);
    }
    for (const ConvertedPort& port : graph_.converted_outputs) {
      AddOutput(port, graph_.outputs[port.port]);
    }
    std::vector<Op> ops = std::move(front_);
    ops.reserve(ops.size() + graph_.ops.size() + behind_.size());
    for (std::vector<Op>* some : {&graph_.ops, &behind_}) {
      for (Op& op : *some) ops.push_back(std::move(op));
    }
    graph_.ops = std::move(ops);
    graph_.converted_inputs.clear();
    graph_.converted_outputs.clear();
  }

 private:
  TensorId AddTensor(Tensor tensor) {
    graph_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }

  // The tensor that takes the port's place, under its name; the integers get
  // another.
  TensorId AddPort(const ConvertedPort& port, TensorId integers) {
    Tensor source = SourcePort(graph_.tensors[integers], port);
    Tensor& renamed = graph_.tensors[integers];
    renamed.name = names_.TensorName(absl::StrCat(
        renamed.name, ".",
        absl::AsciiStrToLower(v1::ElementType_Name(renamed.type))));
    return AddTensor(std::move(source));
  }

  void AddInput(const ConvertedPort& port, TensorId integers) {
    const auto conversions = InputConversions(graph_.tensors[integers], port);
    const TensorId added = AddPort(port, integers);
    graph_.inputs[port.port] = added;
    Convert(conversions, added, integers, added, front_);
  }

  void AddOutput(const ConvertedPort& port, TensorId integers) {
    // A tensor may be several outputs.
    if (const auto found = outputs_.find(integers); found != outputs_.end()) {
      graph_.outputs[port.port] = found->second;
      return;
    }
    const auto conversions = OutputConversions(graph_.tensors[integers], port);
    const TensorId added = AddPort(port, integers);
    outputs_[integers] = added;
    graph_.outputs[port.port] = added;
    Convert(conversions, integers, added, added, behind_);
  }

  // One or two ops from one tensor to the other.
  void Convert(const std::vector<v1::OpAttributes>& conversions, TensorId from,
               TensorId to, TensorId port, std::vector<Op>& ops) {
    for (size_t i = 0; i < conversions.size(); ++i) {
      Op& op = ops.emplace_back();
      op.attributes = conversions[i];
      op.id = names_.OpId(absl::StrCat(
          op.kind(), "_",
          LayerIdMaker().Make(graph_.tensors[port].name, "tensor")));
      op.inputs = {from};
      from = i + 1 < conversions.size() ? AddFloat32(port) : to;
      op.outputs = {from};
    }
  }

  TensorId AddFloat32(TensorId port) {
    Tensor tensor = graph_.tensors[port];
    tensor.name = names_.TensorName(absl::StrCat(tensor.name, ".float32"));
    tensor.type = v1::FLOAT32;
    return AddTensor(std::move(tensor));
  }

  Graph& graph_;
  FreshNames names_;
  std::vector<Op> front_;
  std::vector<Op> behind_;
  std::map<TensorId, TensorId> outputs_;  // Integers -> the port for them.
};

}  // namespace

bool UseSourcePorts(Graph& graph) {
  if (graph.converted_inputs.empty() && graph.converted_outputs.empty()) {
    return false;
  }
  SourcePorts(graph).Run();
  return true;
}

}  // namespace edgekiln::compiler
