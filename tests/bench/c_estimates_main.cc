// Estimates of generated C beside what is true of it, by layer: instructions
// that the simulated core executes, bytes that gcc makes. What the costs in
// compiler/codegen/c/kernels.txtpb are fitted to.
//
//   bench_c_estimates [--shared DIR] [--target T] [--recipe R] [MODEL ...]
//   bench_c_estimates --ops [--seed N]
//
// Needs the package of `tools/install_packages firmware`.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/codegen/c/testing/compiled_networks.h"
#include "compiler/codegen/c/testing/op_cases.h"
#include "compiler/frontend/import.h"
#include "compiler/ir/text.h"
#include "compiler/passes/pipeline.h"
#include "simfarm/session/session.h"
#include "simfarm/simulators/rv32/elf.h"
#include "target/host_cost.h"
#include "tests/c_targets/firmware_build.h"

namespace edgekiln::bench {
namespace {

using compiler::Graph;

struct Totals {
  int layers = 0;
  int near = 0;  // Within a quarter.
  int64_t code_bytes = 0, estimated_code_bytes = 0;
};

// Layers that take less are not worth an estimate.
constexpr int64_t kLeastInstructions = 2000;

const std::map<std::string, v1::CRecipe::Kernels>& Recipes() {
  static const auto& recipes = *new std::map<std::string, v1::CRecipe::Kernels>{
      {"default", v1::CRecipe::KERNELS_UNSPECIFIED},
      {"size", v1::CRecipe::SMALL},
      {"plain", v1::CRecipe::PLAIN},
      {"uma", v1::CRecipe::UMA},
      {"table", v1::CRecipe::TABLE}};
  return recipes;
}

compiler::CRecipe RecipeOf(const std::string& name) {
  if (name == "size") return compiler::CRecipe::kSize;
  if (name == "plain") return compiler::CRecipe::kPlain;
  if (name == "uma") return compiler::CRecipe::kUma;
  if (name == "table") return compiler::CRecipe::kTable;
  return compiler::CRecipe::kDefault;
}

std::string TensorText(const Graph& graph, compiler::TensorId id) {
  if (id == compiler::kNoTensor) return "-";
  const compiler::Tensor& tensor = graph.tensors[id];
  return absl::StrCat(v1::ElementType_Name(tensor.type),
                      tensor.quantization.has_value()
                          ? absl::StrCat("q", tensor.quantization->scale.size())
                          : "",
                      tensor.is_constant() ? "c" : "", "[",
                      absl::StrJoin(tensor.shape, ","), "]");
}

// One line per layer, columns separated by tabs.
absl::Status Compare(const std::string& name, const Graph& graph,
                     const std::string& core, const std::string& recipe,
                     bool details, Totals& totals) {
  EK_ASSIGN_OR_RETURN(const v1::Machine machine, tests::MachineOf(core));
  EK_ASSIGN_OR_RETURN(
      const tests::BuiltFirmware built,
      tests::BuildFirmware(graph, machine, Recipes().at(recipe)));
  EK_ASSIGN_OR_RETURN(
      const compiler::CSources sources,
      compiler::EmitC(graph, {.recipe = RecipeOf(recipe),
                              .processor = machine.firmware().processor()}));
  std::map<std::string, int64_t> function_bytes;
  EK_ASSIGN_OR_RETURN(const auto executable, simfarm::rv32::ReadElf(built.elf));
  int64_t code_bytes = 0;
  for (const simfarm::rv32::Function& function : executable.functions) {
    function_bytes[function.name] = function.size_bytes;
    code_bytes += function.size_bytes;
  }
  totals.code_bytes += code_bytes;
  totals.estimated_code_bytes += sources.manifest.code_bytes;
  EK_ASSIGN_OR_RETURN(
      const auto session,
      simfarm::LoadSession(built.program, built.elf, machine, {}));
  const std::vector<std::string> values = compiler::RandomInputs(graph, 0);
  std::vector<absl::string_view> inputs;
  size_t next = 0;
  for (const compiler::TensorId input : graph.inputs) {
    const bool is_state =
        std::any_of(graph.states.begin(), graph.states.end(),
                    [input](const auto& s) { return s.input == input; });
    inputs.push_back(is_state ? absl::string_view()
                              : absl::string_view(values[next++]));
  }
  std::vector<std::string> outputs;
  EK_ASSIGN_OR_RETURN(const v1::SimReport report,
                      session->RunChecked(inputs, nullptr, &outputs));
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const compiler::Op& op = graph.ops[i];
    const compiler::CLayer& layer = sources.manifest.layers[i];
    const int64_t executed = report.layers(static_cast<int>(i)).cycles();
    const int64_t predicted =
        built.program.layers(static_cast<int>(i)).predicted_cycles();
    if (layer.function.empty()) continue;
    const double ratio = static_cast<double>(predicted) /
                         static_cast<double>(std::max<int64_t>(executed, 1));
    if (executed >= kLeastInstructions) {
      ++totals.layers;
      totals.near += ratio >= 0.75 && ratio <= 1.25 ? 1 : 0;
    }
    // The program has its own prefix; the index is the layer's.
    const std::string& symbol =
        built.program.firmware().functions(static_cast<int>(i));
    std::cout << absl::StrFormat(
        "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%.2f\t%d\t%d\t%d", name, core, op.id,
        std::string(target::OpAttributesName(op.attributes)), layer.kernel,
        predicted, executed, ratio, layer.code_bytes, function_bytes[symbol],
        layer.constant_bytes);
    if (details) {
      std::vector<std::string> in, out;
      for (const auto id : op.inputs) in.push_back(TensorText(graph, id));
      for (const auto id : op.outputs) out.push_back(TensorText(graph, id));
      std::cout << "\t" << absl::StrJoin(in, " ") << "\t"
                << absl::StrJoin(out, " ") << "\t"
                << op.attributes.ShortDebugString().substr(0, 400);
    }
    std::cout << "\n";
  }
  std::cout << absl::StrFormat(
      "%s\t%s\t%s\tTOTAL\t-\t%d\t%d\t-\t%d\t%d\n", name, core, recipe,
      built.program.predicted_cycles(), report.instructions(),
      sources.manifest.code_bytes, code_bytes);
  return absl::OkStatus();
}

absl::StatusOr<Graph> Load(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  EK_ASSIGN_OR_RETURN(Graph graph, compiler::ImportModel(bytes.str()));
  EK_RETURN_IF_ERROR(compiler::Simplify(graph));
  return graph;
}

int Main(int argc, char** argv) {
  std::string shared = EK_SHARED_DIR, core = "rv32imc", recipe = "default";
  std::vector<std::string> models, graphs;
  bool ops = false, details = false;
  uint64_t seed = 1;
  CLI::App app("Estimates of generated C beside what it takes");
  app.add_option("--shared", shared, "Folder with models/");
  app.add_option("--target", core, "rv32im, rv32imc or rv32imf");
  app.add_option("--recipe", recipe, "default, plain, size, table, uma");
  app.add_option("--graph", graphs, "Files with graphs in text form");
  app.add_flag("--ops", ops, "Random ops of every kind");
  app.add_option("--seed", seed, "Of --ops");
  app.add_flag("--details", details, "Tensors and attributes as well");
  app.add_option("models", models, "Files of models/");
  CLI11_PARSE(app, argc, argv);
  std::vector<std::pair<std::string, absl::StatusOr<Graph>>> cases;
  for (const std::string& model : models) {
    cases.emplace_back(model, Load(absl::StrCat(shared, "/models/", model)));
  }
  for (const std::string& path : graphs) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    cases.emplace_back(path, compiler::ParseGraph(text.str()));
  }
  if (ops) {
    auto all = compiler::GraphsOfAllCases(8, seed);
    if (!all.ok()) {
      std::cerr << "bench_c_estimates: " << all.status() << "\n";
      return 1;
    }
    for (size_t i = 0; i < all->size(); ++i) {
      cases.emplace_back(absl::StrCat("ops", i), std::move((*all)[i]));
    }
  }
  Totals totals;
  for (const auto& [name, graph] : cases) {
    const absl::Status status =
        graph.ok() ? Compare(name, *graph, core, recipe, details, totals)
                   : graph.status();
    if (!status.ok()) std::cerr << name << ": " << status << "\n";
  }
  std::cout << absl::StrFormat(
      "%d of %d layers of %d instructions or more are within a quarter; code "
      "%d bytes, estimated %d\n",
      totals.near, totals.layers, kLeastInstructions, totals.code_bytes,
      totals.estimated_code_bytes);
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) { return edgekiln::bench::Main(argc, argv); }
