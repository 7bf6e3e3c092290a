#include <algorithm>
#include <string>

#include "base/status_macros.h"
#include "compiler/passes/integer_io.h"
#include "compiler/passes/pass.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {
namespace {

// Without such an op, as in every integer model, there is nothing to look for.
bool HasConversions(const v1::Graph& graph) {
  return std::any_of(graph.ops().begin(), graph.ops().end(),
                     [](const v1::Op& op) {
                       return op.attributes().has_quantize() ||
                              op.attributes().has_dequantize();
                     });
}

// Whether a float model became uint8. In models that came so, all that can be
// int8 is so since they were simplified.
bool IsUint8(const compiler::Graph& graph) {
  const auto count = [&graph](v1::ElementType type) {
    return std::count_if(graph.tensors.begin(), graph.tensors.end(),
                         [type](const compiler::Tensor& tensor) {
                           return tensor.type == type &&
                                  tensor.quantization.has_value() &&
                                  !tensor.is_constant();
                         });
  };
  return count(v1::UINT8) > 0 && count(v1::INT8) == 0;
}

}  // namespace

absl::StatusOr<StageOutput> RunSetIo(const v1::SetIoOptions& options,
                                     const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto stored, inputs.ParseLarge<v1::Graph>("graph"));
  StageOutput output;
  const bool renamed =
      !options.name().empty() && options.name() != stored->name();
  if (renamed || HasConversions(*stored)) {
    EK_ASSIGN_OR_RETURN(compiler::Graph graph, GraphOf(*stored));
    bool changed = renamed;
    if (renamed) graph.name = options.name();
    if (HasConversions(*stored)) {
      changed = compiler::SetIoForm(options.io(), graph) || changed;
      if (IsUint8(graph)) {
        EK_ASSIGN_OR_RETURN(const compiler::Changed shifted,
                            compiler::NewShiftToInt8Pass()->Run({}, graph));
        changed = changed || shifted == compiler::Changed::kYes;
      }
    }
    if (changed) {
      EK_RETURN_IF_ERROR(compiler::VerifyGraph(graph), "inputs and outputs");
      output.Add("graph", compiler::GraphToProto(graph));
      return output;
    }
  }
  // The same bytes: what follows finds its results under the same keys.
  EK_ASSIGN_OR_RETURN(const absl::string_view same, inputs.One("graph"));
  output.Add("graph", std::string(same));
  return output;
}

}  // namespace edgekiln::server
