#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/graph_outline.h"
#include "compiler/quantize/requantize_gain.h"
#include "compiler/quantize/unquantize.h"
#include "edgekiln/v1/target.pb.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {
namespace {

void AddForm(const compiler::FloatForm& form, std::string reason,
             StageOutput& output) {
  output.summary.mutable_unquantize()->set_reason(std::move(reason));
  output.Add("graph", compiler::GraphToProto(form.graph));
  output.Add("outline", compiler::OutlineOf(form.graph));
  if (form.ranges) output.Add("statistics", *form.ranges);
}

std::string WhyItStays(const absl::Status& why) {
  const auto detail = GetErrorDetail(why);
  return absl::StrCat(
      "the model came quantized in a form that no engine takes, and cannot be "
      "quantized anew: ",
      detail ? absl::StrCat(detail->what, " (", detail->where, ")")
             : std::string(why.message()));
}

absl::Status DecideFor(const v1::Capabilities& capabilities,
                       const compiler::Graph& graph, StageOutput& output) {
  EK_ASSIGN_OR_RETURN(const compiler::EngineMacs macs,
                      compiler::MacsOnEngines(graph, capabilities));
  if (macs.on_engines == macs.all || capabilities.engines_size() == 0) {
    return absl::OkStatus();
  }
  const absl::StatusOr<compiler::FloatForm> form = compiler::Unquantize(graph);
  if (!form.ok()) {
    // Where engines run some of it, nothing is said.
    if (macs.on_engines == 0) {
      output.warnings.push_back(WhyItStays(form.status()));
    }
    return absl::OkStatus();
  }
  EK_ASSIGN_OR_RETURN(std::string why, compiler::WhyRequantize(
                                           graph, form->graph, capabilities));
  if (!why.empty()) AddForm(*form, std::move(why), output);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StageOutput> RunUnquantize(const v1::UnquantizeOptions& options,
                                          const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto read, GraphInput(inputs));
  const compiler::Graph& graph = *read;
  StageOutput output;
  output.summary.mutable_unquantize();
  if (options.requantize() == v1::ON) {
    EK_ASSIGN_OR_RETURN(const compiler::FloatForm form,
                        compiler::Unquantize(graph),
                        "quantizing the model anew");
    AddForm(form, "the quantization file says so", output);
    return output;
  }
  EK_ASSIGN_OR_RETURN(const v1::Capabilities capabilities,
                      inputs.Parse<v1::Capabilities>("capabilities"));
  EK_RETURN_IF_ERROR(DecideFor(capabilities, graph, output),
                     "looking whether to quantize the model anew");
  return output;
}

}  // namespace edgekiln::server
