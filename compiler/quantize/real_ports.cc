#include "compiler/quantize/real_ports.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ir/layer_id.h"
#include "compiler/passes/graph_edit.h"

namespace edgekiln::compiler {

Graph WithRealPorts(const Graph& graph) {
  Graph real = graph;  // Constants stay shared.
  FreshNames names(graph);
  std::vector<Op> first;
  std::vector<Op> last;
  std::set<TensorId> renamed;
  const auto convert = [&](TensorId& port, bool is_input) {
    if (!real.tensors[port].quantization) return;
    const std::string& name = graph.tensors[port].name;
    Tensor tensor = real.tensors[port];
    // A tensor may be several ports: the first one gets its name.
    tensor.name = renamed.insert(port).second ? name : names.TensorName(name);
    if (tensor.name == name) {
      real.tensors[port].name = names.TensorName(absl::StrCat(name, ".int"));
    }
    tensor.type = v1::FLOAT32;
    tensor.quantization.reset();
    tensor.data = ConstantData();
    const auto added = static_cast<TensorId>(real.tensors.size());
    Op op;
    op.id = names.OpId(absl::StrCat(is_input ? "quantize_" : "dequantize_",
                                    LayerIdMaker().Make(name, "tensor")));
    if (is_input) {
      op.attributes.mutable_quantize();
      op.inputs = {added};
      op.outputs = {port};
      first.push_back(std::move(op));
    } else {
      op.attributes.mutable_dequantize();
      op.inputs = {port};
      op.outputs = {added};
      last.push_back(std::move(op));
    }
    real.tensors.push_back(std::move(tensor));
    port = added;
  };
  for (TensorId& input : real.inputs) convert(input, true);
  for (TensorId& output : real.outputs) convert(output, false);
  real.ops.insert(real.ops.begin(), first.begin(), first.end());
  real.ops.insert(real.ops.end(), last.begin(), last.end());
  return real;
}

}  // namespace edgekiln::compiler
