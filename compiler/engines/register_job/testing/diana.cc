#include "compiler/engines/register_job/testing/diana.h"

#include "target/resolve.h"

namespace edgekiln::compiler::register_job {

const v1::Machine& Diana() {
  static const auto* machine =
      new v1::Machine(target::ResolveTarget("extends: \"diana\"")->machine());
  return *machine;
}

Graph Shifted(const OpSpec& spec) {
  Graph graph = GraphOf(spec);
  const auto set = [&](TensorId tensor, float scale) {
    Quantization& quantization = *graph.tensors[tensor].quantization;
    for (float& each : quantization.scale) each = scale;
    for (int32_t& each : quantization.zero_point) each = 0;
  };
  Op& op = graph.ops[0];
  set(op.inputs[0], 1);
  set(op.inputs[1], spec.kind == "add" ? 1 : 0.25F);
  set(op.outputs[0], 8);
  op.attributes.set_rounding(v1::FLOOR);
  return graph;
}

}  // namespace edgekiln::compiler::register_job
