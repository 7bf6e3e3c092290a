// Cycles that `tile` predicts for a network on one chip with memories of many
// sizes, and the CPU time of finding them.
//
//   bench_tiling MODEL.. [--target NAME] [--recipe NAME] [--parameter NAME]
//                [--sizes A,B..]

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "compiler/codegen/compile.h"
#include "compiler/partition/partition.h"
#include "edgekiln/v1/target.pb.h"
#include "target/recipes.h"
#include "target/resolve.h"
#include "tests/bench/measure.h"
#include "tests/bench/networks.h"

namespace edgekiln::bench {
namespace {

absl::StatusOr<v1::ResolvedRecipe> RecipeOf(const v1::ResolvedTarget& target,
                                            const std::string& name) {
  std::vector<std::string> names;
  for (const v1::ResolvedRecipe& recipe : target.recipes()) {
    if (recipe.name() == name) return recipe;
    names.push_back(recipe.name());
  }
  return target::UnknownRecipe(name, target.name(), names);
}

// A row for each size; a ratio to the row of the largest one.
void Bench(const std::string& model, const std::string& target,
           const std::string& recipe_name, const std::string& parameter,
           std::vector<int64_t> sizes) {
  const compiler::Graph graph = OrDie(LoadQuantized({model, model, "", ""}));
  std::cout
      << model << " on " << target << ", recipe " << recipe_name << "\n"
      << "      bytes   predicted cycles  ratio    gap  ms of CPU  per layer  "
         "chains\n";
  std::sort(sizes.rbegin(), sizes.rend());
  double largest = 0;
  for (const int64_t size : sizes) {
    const v1::ResolvedTarget resolved = OrDie(target::ResolveTarget(
        absl::StrCat("extends: \"", target, "\"\nset { name: \"", parameter,
                     "\" value: ", size, " }")));
    const v1::ResolvedRecipe recipe = OrDie(RecipeOf(resolved, recipe_name));
    const v1::Partition partition = OrDie(compiler::PartitionGraph(
        graph, OrDie(compiler::InOrderOf(recipe.partition(),
                                         resolved.capabilities()))));
    const double begin = ProcessCpuSeconds();
    const absl::StatusOr<v1::RegionPlans> plans =
        compiler::TilePartition(partition, resolved.machine(), recipe.tile());
    const double seconds = ProcessCpuSeconds() - begin;
    if (!plans.ok()) {
      std::cout << std::setw(11) << size << "   does not fit\n";
      continue;
    }
    double cycles = 0;
    double bound = 0;
    int layers = 0;
    int chains = 0;
    for (const v1::RegionPlan& region : plans->regions()) {
      cycles += static_cast<double>(region.predicted_cycles());
      bound += static_cast<double>(region.bound_cycles());
      layers += region.ops_size();
      chains += region.chains_size();
    }
    if (largest == 0) largest = cycles;
    std::cout << std::fixed << std::setw(11) << size << std::setw(19)
              << std::setprecision(0) << cycles << std::setw(7)
              << std::setprecision(3) << cycles / largest << std::setw(6)
              << std::setprecision(2)
              << (bound > 0 ? 100 * (cycles / bound - 1) : 0) << "%"
              << std::setw(11) << std::setprecision(1) << seconds * 1e3
              << std::setw(11) << std::setprecision(2)
              << seconds * 1e3 / std::max(layers, 1) << std::setw(8) << chains
              << "\n";
  }
}

int Main(int argc, char** argv) {
  CLI::App app("Predicted cycles by size of memory");
  std::vector<std::string> models;
  std::string target = "dla-64-o-512k";
  std::string recipe = "default";
  std::string parameter = "sram_bytes";
  std::vector<int64_t> sizes;
  app.add_option("models", models, "Files, .tflite or .onnx")->required();
  app.add_option("--target", target, "Name of a built-in target")
      ->capture_default_str();
  app.add_option("--recipe", recipe, "One of the target's recipes")
      ->capture_default_str();
  app.add_option("--parameter", parameter, "The chip's parameter that varies")
      ->capture_default_str();
  app.add_option("--sizes", sizes, "Its values")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->default_str("16k to 256m");
  CLI11_PARSE(app, argc, argv);
  if (sizes.empty()) {
    for (int64_t size = 16 << 10; size < 256 << 20; size *= 2) {
      sizes.push_back(size);
      sizes.push_back(size / 2 * 3);
    }
    sizes.push_back(256 << 20);
  }
  for (const std::string& model : models) {
    Bench(model, target, recipe, parameter, sizes);
  }
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) { return edgekiln::bench::Main(argc, argv); }
