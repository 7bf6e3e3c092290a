#include "server/import_call.h"

#include <utility>
#include <vector>

#include "server/stage_results.h"

namespace edgekiln::server {

StageCall ImportCall(const v1::CreateJobRequest& request) {
  StageCall call;
  call.name = "import";
  v1::ImportOptions& options = *call.options.mutable_import();
  call.inputs = {As("model", request.model())};
  *options.mutable_dimensions() = request.bindings().dimensions();
  for (const v1::NamedBlob& input : request.bindings().inputs()) {
    options.add_bound_inputs(input.name());
    call.inputs.push_back(As("bound_input", input.digest()));
  }
  for (const v1::NamedBlob& file : request.bindings().external_data()) {
    options.add_external_data(file.name());
    call.inputs.push_back(As("external_data", file.digest()));
  }
  return call;
}

StageCall SimplifyCall(v1::BlobRef graph) {
  StageCall call;
  call.name = "simplify";
  call.options.mutable_simplify();
  call.inputs = {std::move(graph)};
  return call;
}

absl::StatusOr<v1::BlobRef> CompiledGraph(const v1::StageResult& simplified) {
  const std::vector<v1::Digest> float32 = All(simplified, "float32_graph");
  if (!float32.empty()) return As("graph", float32[0]);
  return Only(simplified, "graph");
}

StageCall ResolveCall(const v1::Digest& descriptor) {
  StageCall call;
  call.name = "resolve_target";
  call.options.mutable_resolve_target();
  call.inputs = {As("target", descriptor)};
  return call;
}

StageCall UnquantizeCall(const v1::BlobRef& compiled,
                         const v1::BlobRef* capabilities, v1::Switch asked) {
  StageCall call;
  call.name = "unquantize";
  call.options.mutable_unquantize()->set_requantize(asked);
  call.inputs = {compiled};
  // What is asked for does not depend on the target.
  if (asked != v1::ON) call.inputs.push_back(*capabilities);
  return call;
}

}  // namespace edgekiln::server
