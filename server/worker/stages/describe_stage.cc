#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "base/status_macros.h"
#include "compiler/partition/partition.h"
#include "compiler/quantize/quantize.h"
#include "edgekiln/v1/model.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "server/proto_convert.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {
namespace {

std::string TypeName(v1::ElementType type) {
  return absl::AsciiStrToLower(v1::ElementType_Name(type));
}

v1::ModelDescription::Port PortOf(const compiler::Tensor& tensor) {
  v1::ModelDescription::Port port;
  v1::TensorType type = TypeOf(tensor);
  port.set_name(type.name());
  *port.mutable_shape() = type.shape();
  port.set_type(TypeName(type.element_type()));
  if (type.has_quantization()) {
    *port.mutable_quantization() = type.quantization();
  }
  return port;
}

const compiler::Tensor& At(const compiler::Graph& graph,
                           compiler::TensorId tensor) {
  return graph.tensors[static_cast<size_t>(tensor)];
}

v1::ModelDescription::Layer LayerOf(const compiler::Graph& graph,
                                    const compiler::Op& op) {
  v1::ModelDescription::Layer layer;
  layer.set_id(op.id);
  layer.set_op(std::string(op.kind()));
  layer.set_name(op.name);
  layer.set_macs(compiler::MacsOf(graph, op));
  int64_t parameters = 0;
  for (const compiler::TensorId input : op.inputs) {
    if (input == compiler::kNoTensor || !At(graph, input).is_constant()) {
      continue;
    }
    parameters += At(graph, input).num_elements();
  }
  layer.set_parameters(parameters);
  const compiler::Tensor& output = At(graph, op.outputs[0]);
  for (const int64_t extent : output.shape) layer.add_output_shape(extent);
  layer.set_output_type(TypeName(output.type));
  return layer;
}

// A float model is placed in its int8 form. Ranges decide nothing about that,
// so that any will do.
absl::StatusOr<compiler::Graph> DeployedForm(const compiler::Graph& graph) {
  if (IsQuantized(graph)) return graph;
  v1::CalibrationStatistics statistics;
  statistics.set_samples(1);
  for (const compiler::Tensor& tensor : graph.tensors) {
    if (tensor.is_constant()) continue;
    auto& range = *statistics.add_ranges();
    range.set_tensor(tensor.name);
    range.set_min(-1);
    range.set_max(1);
    range.set_percentile_low(-1);
    range.set_percentile_high(1);
  }
  return compiler::QuantizeGraph(graph, statistics);
}

absl::StatusOr<std::map<std::string, v1::ModelDescription::Layer>> Place(
    const compiler::Graph& graph, const v1::Capabilities& capabilities) {
  EK_ASSIGN_OR_RETURN(const compiler::Graph deployed, DeployedForm(graph));
  EK_ASSIGN_OR_RETURN(const v1::Partition partition,
                      compiler::PartitionGraph(deployed, capabilities));
  std::map<std::string, v1::ModelDescription::Layer> placed;
  for (const v1::Partition::Placement& placement : partition.placements()) {
    const auto op = static_cast<size_t>(placement.op());
    auto& layer = placed[deployed.ops[op].id];
    layer.set_engine(placement.engine() < 0
                         ? "host"
                         : capabilities.engines(placement.engine()).name());
    layer.set_reason(placement.reason());
  }
  return placed;
}

// Engine and reason of every layer. That a model cannot be placed is part of
// its description, not an error.
void AddPlacements(const compiler::Graph& graph,
                   const v1::Capabilities& capabilities,
                   v1::ModelDescription& description) {
  const auto placed = Place(graph, capabilities);
  if (!placed.ok()) {
    *description.add_problems() = ErrorToProto(placed.status());
    return;
  }
  for (auto& layer : *description.mutable_layers()) {
    const auto found = placed->find(layer.id());
    if (found == placed->end()) continue;
    layer.set_engine(found->second.engine());
    layer.set_reason(found->second.reason());
  }
}

}  // namespace

absl::StatusOr<StageOutput> RunDescribe(const v1::DescribeOptions& options,
                                        const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto read, GraphInput(inputs));
  const compiler::Graph& graph = *read;
  StageOutput output;
  v1::ModelDescription& description = *output.summary.mutable_description();
  description.set_name(graph.name);
  description.set_format(options.format());
  description.set_quantized(IsQuantized(graph));
  for (const compiler::TensorId input : graph.inputs) {
    *description.add_inputs() = PortOf(At(graph, input));
  }
  for (const compiler::TensorId out : graph.outputs) {
    *description.add_outputs() = PortOf(At(graph, out));
  }
  int64_t macs = 0;
  for (const compiler::Op& op : graph.ops) {
    *description.add_layers() = LayerOf(graph, op);
    macs += description.layers().rbegin()->macs();
  }
  description.set_macs(macs);
  int64_t parameters = 0;
  for (const compiler::Tensor& tensor : graph.tensors) {
    if (tensor.is_constant()) parameters += tensor.num_elements();
  }
  description.set_parameters(parameters);
  if (inputs.Has("capabilities")) {
    EK_ASSIGN_OR_RETURN(const v1::Capabilities capabilities,
                        inputs.Parse<v1::Capabilities>("capabilities"));
    AddPlacements(graph, capabilities, description);
  }
  return output;
}

}  // namespace edgekiln::server
