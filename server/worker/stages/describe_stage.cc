#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/integer_io.h"
#include "compiler/quantize/quantize.h"
#include "compiler/quantize/requantize_gain.h"
#include "compiler/quantize/unquantize.h"
#include "edgekiln/v1/model.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "proto/convert.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"
#include "target/quantization_needs.h"

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

// Sizes and types of what the op reads: constants are its parameters.
void AddInputs(const compiler::Graph& graph, const compiler::Op& op,
               v1::ModelDescription::Layer& layer) {
  int64_t parameters = 0;
  int64_t largest = 0;
  for (const compiler::TensorId input : op.inputs) {
    if (input == compiler::kNoTensor) continue;
    const compiler::Tensor& tensor = At(graph, input);
    if (!tensor.is_constant()) {
      auto& shape = *layer.add_inputs();
      for (const int64_t extent : tensor.shape) shape.add_extent(extent);
      continue;
    }
    const int64_t elements = tensor.num_elements();
    parameters += elements;
    if (elements <= largest) continue;
    largest = elements;
    const v1::TensorType type = TypeOf(tensor);
    layer.set_weight_type(TypeName(type.element_type()));
    layer.set_weight_scales(type.quantization().scale_size());
  }
  layer.set_parameters(parameters);
}

v1::ModelDescription::Layer LayerOf(const compiler::Graph& graph,
                                    const compiler::Op& op) {
  v1::ModelDescription::Layer layer;
  layer.set_id(op.id);
  layer.set_op(std::string(op.kind()));
  layer.set_name(op.name);
  layer.set_macs(compiler::MacsOf(graph, op));
  AddInputs(graph, op, layer);
  const v1::TensorType output = TypeOf(At(graph, op.outputs[0]));
  *layer.mutable_output_shape() = output.shape();
  layer.set_output_type(TypeName(output.element_type()));
  if (output.has_quantization()) {
    *layer.mutable_output_quantization() = output.quantization();
  }
  return layer;
}

// The float network that is quantized anew for engines with these capabilities,
// if they do not take the model's integers.
absl::StatusOr<std::optional<compiler::Graph>> FloatForm(
    const compiler::Graph& graph, const v1::Capabilities& capabilities,
    v1::ModelDescription& description) {
  EK_ASSIGN_OR_RETURN(const compiler::EngineMacs macs,
                      compiler::MacsOnEngines(graph, capabilities));
  if (macs.on_engines == macs.all) return std::nullopt;
  absl::StatusOr<compiler::FloatForm> form = compiler::Unquantize(graph);
  if (!form.ok()) return std::nullopt;  // It stays as it is.
  EK_ASSIGN_OR_RETURN(const std::string why,
                      WhyRequantize(graph, form->graph, capabilities));
  if (why.empty()) return std::nullopt;
  description.add_warnings(
      absl::StrCat("the model is quantized anew for this target (", why,
                   "): types are shown as they came, engines as they will be"));
  return std::move(form->graph);
}

// What a target gets by default: with integers at inputs and outputs. A float
// model is placed in the int8 form that it gets for engines with these
// capabilities. Placement does not depend on ranges, so any will do.
absl::StatusOr<compiler::Graph> DeployedForm(
    const compiler::Graph& source, const v1::Capabilities& capabilities,
    v1::ModelDescription& description) {
  compiler::Graph graph = source;  // Constants stay shared.
  if (IsQuantized(source)) {
    EK_ASSIGN_OR_RETURN(std::optional<compiler::Graph> real,
                        FloatForm(source, capabilities, description));
    if (!real) {
      compiler::UseIntegerPorts(graph);
      return graph;
    }
    graph = *std::move(real);
  }
  v1::CalibrationStatistics statistics;
  statistics.set_samples(1);
  for (const compiler::Tensor& tensor : graph.tensors) {
    if (tensor.is_constant()) continue;
    auto& range = *statistics.add_ranges();
    range.set_tensor(tensor.name);
    range.set_min(-1);
    range.set_max(1);
  }
  EK_ASSIGN_OR_RETURN(
      compiler::Graph quantized,
      compiler::QuantizeGraph(graph, statistics,
                              target::QuantizationNeedsOf(capabilities)));
  compiler::UseIntegerPorts(quantized);
  return quantized;
}

struct Place {
  std::string engine;
  std::string reason;
};

// Engine by layer id; for a split layer, of its first half, then of the second.
std::map<std::string, Place> PlacesOf(const v1::Partition& partition,
                                      const v1::Capabilities& capabilities,
                                      const v1::ModelDescription& description) {
  std::set<std::string> layers;
  for (const auto& layer : description.layers()) layers.insert(layer.id());
  std::map<std::string, Place> places;
  Place* first = nullptr;
  for (const v1::Partition::Placement& placement : partition.placements()) {
    const v1::Op& op = partition.graph().ops(placement.op());
    const std::string engine =
        placement.engine() < 0
            ? "host"
            : capabilities.engines(placement.engine()).name();
    const bool second =
        op.attributes().has_requantize() || op.attributes().has_clip();
    if (first != nullptr && second && !layers.contains(op.id())) {
      absl::StrAppend(&first->reason, "; ", engine, " for ",
                      op.attributes().has_clip() ? "clip" : "requantize", ": ",
                      placement.reason());
      continue;
    }
    first = &places[op.id()];
    *first = {engine, placement.reason()};
  }
  return places;
}

// Engine and reason of every layer.
absl::Status AddPlacements(const compiler::Graph& deployed,
                           const v1::Capabilities& capabilities,
                           v1::ModelDescription& description) {
  EK_ASSIGN_OR_RETURN(const v1::Partition partition,
                      compiler::PartitionGraph(deployed, capabilities));
  const auto places = PlacesOf(partition, capabilities, description);
  for (auto& layer : *description.mutable_layers()) {
    const auto found = places.find(layer.id());
    if (found == places.end()) {
      // The only layers that compiling removes.
      layer.set_engine("caller");
      layer.set_reason("the caller converts (with --io float: the host)");
      continue;
    }
    layer.set_engine(found->second.engine);
    layer.set_reason(found->second.reason);
  }
  return absl::OkStatus();
}

// What would not compile, and where the rest would run. That a model cannot be
// compiled is part of its description, not an error.
absl::Status AddOutlook(const compiler::Graph& graph, const StageInputs& inputs,
                        v1::ModelDescription& description) {
  v1::Capabilities capabilities;
  if (inputs.Has("capabilities")) {
    EK_ASSIGN_OR_RETURN(capabilities,
                        inputs.Parse<v1::Capabilities>("capabilities"));
  }
  const absl::StatusOr<compiler::Graph> deployed =
      DeployedForm(graph, capabilities, description);
  if (!deployed.ok()) {
    *description.add_problems() = ErrorToProto(deployed.status());
    return absl::OkStatus();
  }
  if (!inputs.Has("capabilities")) return absl::OkStatus();
  const absl::Status placed =
      AddPlacements(*deployed, capabilities, description);
  if (!placed.ok()) *description.add_problems() = ErrorToProto(placed);
  return absl::OkStatus();
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
  EK_RETURN_IF_ERROR(AddOutlook(graph, inputs, description));
  return output;
}

}  // namespace edgekiln::server
