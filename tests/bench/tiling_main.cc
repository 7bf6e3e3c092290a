// Cycles that `tile` predicts for networks on chips with memories of many
// sizes, how far they are from the proven bound, and the CPU time of finding
// them.
//
//   bench_tiling MODEL.. [--target NAME..] [--recipe NAME] [--parameter NAME]
//                [--sizes A,B..] [--above PERCENT]
//
// A target "dla-*" stands for all presets whose names begin so.

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "compiler/codegen/compile.h"
#include "compiler/partition/partition.h"
#include "edgekiln/v1/target.pb.h"
#include "target/builtin.h"
#include "target/recipes.h"
#include "target/resolve.h"
#include "tests/bench/measure.h"
#include "tests/bench/networks.h"

namespace edgekiln::bench {
namespace {

struct Options {
  std::vector<std::string> models;
  std::vector<std::string> targets = {"dla-64-o-512k"};
  std::string recipe = "default";
  std::string parameter = "sram_bytes";
  std::vector<int64_t> sizes;
  std::optional<double> above_percent;
};

// The plans of a network on one chip.
struct Figures {
  double cycles = 0;
  double bound = 0;
  int layers = 0;
  int chains = 0;
  double cpu_seconds = 0;
  double gap_percent() const {
    return bound > 0 ? 100 * (cycles / bound - 1) : 0;
  }
};

absl::StatusOr<v1::ResolvedRecipe> RecipeOf(const v1::ResolvedTarget& target,
                                            const std::string& name) {
  std::vector<std::string> names;
  for (const v1::ResolvedRecipe& recipe : target.recipes()) {
    if (recipe.name() == name) return recipe;
    names.push_back(recipe.name());
  }
  return target::UnknownRecipe(name, target.name(), names);
}

// `size`: empty for the target's own. Empty if the network does not fit.
std::optional<Figures> Plan(const compiler::Graph& graph,
                            const std::string& target, const Options& options,
                            std::optional<int64_t> size) {
  std::string text = absl::StrCat("extends: \"", target, "\"\n");
  if (size) {
    absl::StrAppend(&text, "set { name: \"", options.parameter,
                    "\" value: ", *size, " }");
  }
  const v1::ResolvedTarget resolved = OrDie(target::ResolveTarget(text));
  const v1::ResolvedRecipe recipe = OrDie(RecipeOf(resolved, options.recipe));
  const v1::Partition partition = OrDie(compiler::PartitionGraph(
      graph,
      OrDie(compiler::InOrderOf(recipe.partition(), resolved.capabilities()))));
  Figures figures;
  const double begin = ProcessCpuSeconds();
  const absl::StatusOr<v1::RegionPlans> plans =
      compiler::TilePartition(partition, resolved.machine(), recipe.tile());
  figures.cpu_seconds = ProcessCpuSeconds() - begin;
  if (!plans.ok()) return std::nullopt;
  for (const v1::RegionPlan& region : plans->regions()) {
    figures.cycles += static_cast<double>(region.predicted_cycles());
    figures.bound += static_cast<double>(region.bound_cycles());
    figures.layers += region.ops_size();
    figures.chains += region.chains_size();
  }
  return figures;
}

// A row for each size, large ones first; a ratio to the row of the largest one.
void PrintSizes(const std::string& model, const std::string& target,
                const Options& options) {
  const compiler::Graph graph = OrDie(LoadQuantized({model, model, "", ""}));
  std::cout
      << model << " on " << target << ", recipe " << options.recipe << "\n"
      << "      bytes   predicted cycles  ratio    gap  ms of CPU  per layer  "
         "chains\n";
  double largest = 0;
  for (const int64_t size : options.sizes) {
    const std::optional<Figures> figures = Plan(graph, target, options, size);
    if (!figures) {
      std::cout << std::setw(11) << size << "   does not fit\n";
      continue;
    }
    if (largest == 0) largest = figures->cycles;
    const double milliseconds = figures->cpu_seconds * 1e3;
    std::cout << std::fixed << std::setw(11) << size << std::setw(19)
              << std::setprecision(0) << figures->cycles << std::setw(7)
              << std::setprecision(3) << figures->cycles / largest
              << std::setw(6) << std::setprecision(2) << figures->gap_percent()
              << "%" << std::setw(11) << std::setprecision(1) << milliseconds
              << std::setw(11) << std::setprecision(2)
              << milliseconds / std::max(figures->layers, 1) << std::setw(8)
              << figures->chains << "\n";
  }
}

// The rows whose gap is above the limit, how many those are, and how often
// cycles rise from one size to the next larger one.
void PrintAbove(const Options& options) {
  double sum_of_gaps = 0;
  double cpu_seconds = 0;
  int rows = 0;
  int above = 0;
  int layers = 0;
  int rises = 0;
  std::vector<std::optional<int64_t>> sizes(options.sizes.begin(),
                                            options.sizes.end());
  if (sizes.empty()) sizes.emplace_back();
  std::cout << std::fixed << std::setprecision(2);
  for (const std::string& model : options.models) {
    const compiler::Graph graph = OrDie(LoadQuantized({model, model, "", ""}));
    const std::string name = model.substr(model.rfind('/') + 1);
    for (const std::string& target : options.targets) {
      double of_larger = 0;
      for (const std::optional<int64_t> size : sizes) {
        const std::optional<Figures> figures =
            Plan(graph, target, options, size);
        if (!figures) continue;
        ++rows;
        sum_of_gaps += figures->gap_percent();
        cpu_seconds += figures->cpu_seconds;
        layers += figures->layers;
        const std::string where = absl::StrCat(
            name, " ", target, size ? absl::StrCat(" ", *size) : "", ": ");
        if (figures->cycles < of_larger) {
          ++rises;
          std::cout << where << "the next larger size takes "
                    << static_cast<int64_t>(of_larger - figures->cycles)
                    << " cycles more\n";
        }
        of_larger = figures->cycles;
        if (figures->gap_percent() <= *options.above_percent) continue;
        ++above;
        std::cout << where << static_cast<int64_t>(figures->cycles)
                  << " cycles, bound " << static_cast<int64_t>(figures->bound)
                  << ", gap " << figures->gap_percent() << " %\n";
      }
    }
  }
  std::cout << above << " of " << rows << " rows above "
            << *options.above_percent << " %, mean "
            << sum_of_gaps / std::max(rows, 1) << " %, " << rises << " rises, "
            << cpu_seconds * 1e3 / std::max(layers, 1)
            << " ms of CPU per layer\n";
}

// Names, with those of all presets in place of patterns.
std::vector<std::string> Expanded(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) {
    absl::string_view prefix = name;
    if (!absl::ConsumeSuffix(&prefix, "*")) {
      all.push_back(name);
      continue;
    }
    for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
      if (builtin.listing == target::Listing::kListed &&
          absl::StartsWith(builtin.name, prefix)) {
        all.push_back(builtin.name);
      }
    }
  }
  return all;
}

int Main(int argc, char** argv) {
  CLI::App app("Predicted cycles by size of memory");
  Options options;
  app.add_option("models", options.models, "Files, .tflite or .onnx")
      ->required();
  app.add_option("--target", options.targets,
                 "Names of built-in targets, or the beginning of some and *")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--recipe", options.recipe, "One of the target's recipes")
      ->capture_default_str();
  app.add_option("--parameter", options.parameter,
                 "The chip's parameter that varies")
      ->capture_default_str();
  app.add_option("--sizes", options.sizes, "Its values")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->default_str("16k to 256m; with --above the target's own");
  app.add_option("--above", options.above_percent,
                 "Print only rows whose gap is larger, in percent, and rises");
  CLI11_PARSE(app, argc, argv);
  options.targets = Expanded(options.targets);
  if (options.sizes.empty() && !options.above_percent) {
    for (int64_t size = 16 << 10; size < 256 << 20; size *= 2) {
      options.sizes.push_back(size);
      options.sizes.push_back(size / 2 * 3);
    }
    options.sizes.push_back(256 << 20);
  }
  std::sort(options.sizes.rbegin(), options.sizes.rend());
  if (options.above_percent) {
    PrintAbove(options);
    return 0;
  }
  for (const std::string& model : options.models) {
    for (const std::string& target : options.targets) {
      PrintSizes(model, target, options);
    }
  }
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) { return edgekiln::bench::Main(argc, argv); }
