#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "compiler/codegen/bundle.h"
#include "compiler/codegen/firmware/check_files.h"
#include "compiler/codegen/host/host_files.h"
#include "compiler/document/network_document.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "server/version.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {
namespace {

// The folder `c` of a bundle with firmware.
absl::StatusOr<std::vector<compiler::BundleFile>> CFiles(
    const v1::Program& program, const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(v1::CSourceTree sources,
                      inputs.Parse<v1::CSourceTree>("c_sources"));
  std::vector<compiler::BundleFile> files;
  std::vector<std::string> paths;
  for (v1::CSourceTree::File& file : *sources.mutable_files()) {
    paths.push_back(file.path());
    files.push_back(
        {absl::StrCat("c/", file.path()), std::move(*file.mutable_text())});
  }
  EK_ASSIGN_OR_RETURN(const auto graph, GraphInput(inputs));
  EK_ASSIGN_OR_RETURN(
      std::vector<compiler::CFile> checks,
      compiler::CheckFiles(*graph, program.firmware().processor(), paths),
      "making c/check.c");
  for (compiler::CFile& file : checks) {
    files.push_back({absl::StrCat("c/", file.path), std::move(file.text)});
  }
  return files;
}

// The folder `c` of a bundle of a chip with engines. Where the host's part has
// no C, the folder says why.
absl::StatusOr<std::vector<compiler::BundleFile>> HostCFiles(
    const v1::Program& program, absl::string_view constants,
    const v1::Machine& machine, const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto graph, GraphInput(inputs));
  absl::StatusOr<std::vector<compiler::CFile>> made =
      compiler::HostFiles(program, *graph, constants, machine);
  if (absl::IsUnimplemented(made.status())) {
    made = std::vector<compiler::CFile>{
        {"README.txt", absl::StrCat("There is no C of the host's steps here.\n",
                                    made.status().message(), "\n")}};
  }
  EK_RETURN_IF_ERROR(made.status(), "making the host's steps");
  std::vector<compiler::BundleFile> files;
  for (compiler::CFile& file : *made) {
    files.push_back({absl::StrCat("c/", file.path), std::move(file.text)});
  }
  return files;
}

}  // namespace

absl::StatusOr<StageOutput> RunBundle(const v1::BundleOptions& options,
                                      const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const v1::Program program,
                      inputs.Parse<v1::Program>("program"));
  EK_ASSIGN_OR_RETURN(const auto graph, inputs.ParseLarge<v1::Graph>("graph"));
  absl::string_view constants;
  if (inputs.Has("constants")) {
    EK_ASSIGN_OR_RETURN(constants, inputs.One("constants"));
  }
  EK_ASSIGN_OR_RETURN(const v1::Machine machine,
                      inputs.Parse<v1::Machine>("machine"));
  std::vector<compiler::BundleFile> c_files;
  if (inputs.Has("c_sources")) {
    EK_ASSIGN_OR_RETURN(c_files, CFiles(program, inputs));
  } else if (!program.has_firmware()) {
    EK_ASSIGN_OR_RETURN(c_files,
                        HostCFiles(program, constants, machine, inputs));
  }
  EK_ASSIGN_OR_RETURN(const absl::string_view target, inputs.One("target"));
  EK_ASSIGN_OR_RETURN(const absl::string_view machine_bytes,
                      inputs.One("machine"));
  EK_ASSIGN_OR_RETURN(const absl::string_view graph_bytes, inputs.One("graph"));
  const v1::NetworkOrigin& network = options.network();
  EK_ASSIGN_OR_RETURN(std::string document,
                      compiler::WriteNetworkDocument(network, graph_bytes));
  EK_ASSIGN_OR_RETURN(
      std::vector<compiler::BundleFile> files,
      compiler::BundleFiles(
          program, *graph, constants, machine,
          {.model_name = network.model_name(),
           .target_name = options.target_name(),
           .recipe_name = options.recipe_name(),
           .model = {network.model().hash(), network.model().size_bytes()},
           .target = DigestOf(target),
           .machine = DigestOf(machine_bytes),
           .version = std::string(Version())},
          std::move(document), std::move(c_files)),
      "bundling");
  StageOutput output;
  for (compiler::BundleFile& file : files) {
    output.Add(std::move(file.path), std::move(file.bytes));
  }
  return output;
}

}  // namespace edgekiln::server
