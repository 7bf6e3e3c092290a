#include "compiler/codegen/layer_rows.h"

#include <algorithm>
#include <string>
#include <vector>

namespace edgekiln::compiler {
namespace {

v1::LayerKind KindOf(const Op& op) {
  switch (op.attributes.op_case()) {
    case v1::OpAttributes::kConv2D:
    case v1::OpAttributes::kFullyConnected:
      return v1::CONV;
    case v1::OpAttributes::kDepthwiseConv2D:
      return v1::DEPTH;
    case v1::OpAttributes::kRequantize:
      return v1::REQUANT;
    default:
      return v1::OTHER;
  }
}

int32_t IndexOf(const std::vector<TensorId>& ids, TensorId id) {
  return static_cast<int32_t>(std::find(ids.begin(), ids.end(), id) -
                              ids.begin());
}

}  // namespace

v1::Program::Layer& AddLayerRow(const Graph& graph, const Op& op,
                                v1::Program* program) {
  v1::Program::Layer& layer = *program->add_layers();
  layer.set_id(op.id);
  layer.set_name(op.name);
  layer.set_op(std::string(op.kind()));
  layer.set_kind(KindOf(op));
  layer.set_macs(MacsOf(graph, op));
  return layer;
}

void AddCarries(const Graph& graph, v1::Program* program) {
  for (const State& state : graph.states) {
    v1::Program::Carry& carry = *program->add_carries();
    carry.set_output(IndexOf(graph.outputs, state.output));
    carry.set_input(IndexOf(graph.inputs, state.input));
  }
}

}  // namespace edgekiln::compiler
