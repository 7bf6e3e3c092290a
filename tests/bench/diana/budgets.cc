#include "tests/bench/diana/budgets.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace edgekiln::bench {
namespace {

constexpr const char* kRecipes[] = {"tiles-by-bytes", "tiles-eq-3-4",
                                    "tiles-eq-3-5", "default"};
constexpr char kOurs[] = "default";
constexpr char kBudgets[] = "4096,8192,16384,32768,65536,131072,262144";

// By budget, then by recipe.
using Cycles = std::map<int64_t, std::map<std::string, int64_t>>;

absl::StatusOr<Cycles> SweepOf(const DianaCompiler& compiler,
                               const Published& network) {
  const std::string csv = compiler.At("budgets.csv");
  std::vector<std::string> command = {compiler.edgekiln(),
                                      "sweep",
                                      compiler.ModelOf(network, kDigital),
                                      "--target",
                                      "diana-digital",
                                      "--vary",
                                      absl::StrCat("l1_bytes=", kBudgets),
                                      "--timing-only",
                                      "--csv",
                                      csv};
  for (const char* recipe : kRecipes) {
    command.insert(command.end(), {"--recipe", recipe});
  }
  // Cells that do not fit fail; the rows say so. Those of the network before
  // are gone.
  std::filesystem::remove(csv);
  const absl::Status ran = RunProgram(command).status();
  std::ifstream file(csv);
  Cycles cycles;
  std::vector<std::string> titles;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> fields =
        absl::StrSplit(absl::StripSuffix(line, "\r"), ',');
    if (titles.empty()) {
      titles = fields;
      continue;
    }
    const auto field = [&](const char* title) -> std::string {
      const auto at = std::find(titles.begin(), titles.end(), title);
      const auto position = static_cast<size_t>(at - titles.begin());
      return position < fields.size() ? fields[position] : "";
    };
    int64_t budget = 0;
    int64_t taken = 0;
    if (absl::SimpleAtoi(field("l1_bytes"), &budget) &&
        absl::SimpleAtoi(field("cycles"), &taken)) {
      cycles[budget][field("recipe")] = taken;
    }
  }
  if (cycles.empty()) {
    return absl::NotFoundError(
        absl::StrCat("the sweep has no rows: ", ran.message()));
  }
  return cycles;
}

}  // namespace

absl::StatusOr<int> PrintBudgets(const DianaCompiler& compiler) {
  int wrong = 0;
  std::cout << "\nFig. 4: thousands of cycles by bytes of L1\n";
  for (const Published& network : kPublished) {
    EK_ASSIGN_OR_RETURN(const Cycles all, SweepOf(compiler, network));
    std::cout << absl::StreamFormat("%-10s %8s", network.name, "L1");
    for (const char* recipe : kRecipes) {
      std::cout << absl::StreamFormat(" %14s", recipe);
    }
    std::cout << absl::StreamFormat(" %14s\n", "most / ours");
    int64_t before = 0;  // Of ours, with less memory.
    double gap = 0;
    for (const auto& [budget, cycles] : all) {
      std::cout << absl::StreamFormat("%-10s %8d", "", budget);
      const auto ours = cycles.find(kOurs);
      int64_t most = 0;
      for (const char* recipe : kRecipes) {
        const auto found = cycles.find(recipe);
        if (found == cycles.end()) {
          std::cout << absl::StreamFormat(" %14s", "refused");
          continue;
        }
        most = std::max(most, found->second);
        wrong += ours == cycles.end() || found->second < ours->second;
        std::cout << absl::StreamFormat(
            " %14.1f", static_cast<double>(found->second) / 1e3);
      }
      if (ours != cycles.end()) {
        wrong += before > 0 && ours->second > before;
        before = ours->second;
        const double ratio =
            static_cast<double>(most) / static_cast<double>(ours->second);
        gap = std::max(gap, ratio);
        std::cout << absl::StreamFormat(" %14.2f", ratio);
      }
      std::cout << "\n";
    }
    std::cout << absl::StreamFormat(
        "%-10s up to %.1f times ours; published: up to 6.2 times with all "
        "heuristics\n",
        "", gap);
  }
  return wrong;
}

}  // namespace edgekiln::bench
