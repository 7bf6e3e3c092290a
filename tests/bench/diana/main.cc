// DIANA's published figures, and ours from the same run: HTVM's Tables I and
// II, its text, Figs. 4 and 5, sizes, and the fit behind the target's
// parameters.
//
//   bench_diana [--edgekiln FILE] [--shared DIR] [--variants DIR]
//               [--only PART ..]
//
// The analog columns need what `make_htvm_variants.py --engine analog` of the
// shared models writes, in --variants.
//
// Published figures do not count what brings a network's input and output into
// the array's layout; nor do these.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "tests/bench/diana/arrays.h"
#include "tests/bench/diana/budgets.h"
#include "tests/bench/diana/compile.h"
#include "tests/bench/diana/fit.h"
#include "tests/bench/diana/layers.h"
#include "tests/bench/diana/loss.h"
#include "tests/bench/diana/sizes.h"
#include "tests/bench/diana/speed.h"

namespace edgekiln::bench {
namespace {

double Percent(int64_t cycles, double ms) {
  return 100 * (static_cast<double>(cycles) / (ms * kCyclesPerMs) - 1);
}

// Full cycles of recipe `recipe`; nothing without a model for the column.
absl::StatusOr<std::optional<double>> FullOf(const DianaCompiler& compiler,
                                             const Published& network,
                                             const Column& column,
                                             const char* recipe) {
  if (!compiler.HasModel(network, column)) return std::nullopt;
  EK_ASSIGN_OR_RETURN(const ProgramFigures figures,
                      compiler.Figures(network, column, column.target, recipe));
  return static_cast<double>(figures.sum.full);
}

struct Networks {
  std::vector<Measured> htvm;
  std::vector<ProgramFigures> best;
  std::vector<NetworkCycles> cycles;
};

// Table I and the limits of recipe default. Adds to `beyond` what is beyond
// its limit.
absl::StatusOr<Networks> PrintTable(const DianaCompiler& compiler,
                                    int& beyond) {
  Networks all;
  std::cout << absl::StreamFormat(
      "thousands of cycles at 260 MHz; %% is off the published figure\n"
      "%-10s %18s %18s %9s | %8s %7s %7s | %16s %9s | %s\n",
      "network", "htvm, accelerator", "htvm, full", "fixed", "default", "/htvm",
      "limit", "on the host", "array MAC", "jobs");
  for (const Published& network : kPublished) {
    const auto figures = [&](const char* recipe) {
      return compiler.Figures(network, kDigital, kDigital.target, recipe);
    };
    EK_ASSIGN_OR_RETURN(const ProgramFigures htvm, figures("htvm"));
    EK_ASSIGN_OR_RETURN(const ProgramFigures fixed, figures("htvm-fixed"));
    EK_ASSIGN_OR_RETURN(const ProgramFigures best, figures("default"));
    const auto cpu = compiler.Figures(network, kDigital, "diana-cpu", "htvm");
    EK_ASSIGN_OR_RETURN(const auto analog,
                        FullOf(compiler, network, kAnalog, "htvm"));
    EK_ASSIGN_OR_RETURN(const auto mixed,
                        FullOf(compiler, network, kMixed, "htvm"));
    const LayerFigures& h = htvm.sum;
    const double ratio =
        static_cast<double>(best.sum.full) / static_cast<double>(h.full);
    beyond += ratio > network.default_limit;
    std::string on_host = "refused";
    if (cpu.ok()) {
      on_host = absl::StrFormat("%.0f", cpu->sum.full / 1e3);
      if (network.cpu_ms > 0) {
        absl::StrAppendFormat(&on_host, " (%+.1f%%)",
                              Percent(cpu->sum.full, network.cpu_ms));
      } else {
        absl::StrAppendFormat(&on_host, ", %d B", cpu->l2_bytes);
      }
    }
    std::cout << absl::StreamFormat(
        "%-10s %8.1f (%+6.1f %%) %8.1f (%+6.1f %%) %9.1f | %8.1f %7.3f %7.2f | "
        "%16s %8.1f%% | %d, default %d\n",
        network.name, static_cast<double>(h.peak()) / 1e3,
        Percent(h.peak(), network.peak_ms), static_cast<double>(h.full) / 1e3,
        Percent(h.full, network.full_ms),
        static_cast<double>(fixed.sum.full) / 1e3,
        static_cast<double>(best.sum.full) / 1e3, ratio, network.default_limit,
        on_host,
        100.0 * static_cast<double>(best.macs_on_array) /
            static_cast<double>(best.sum.macs),
        h.jobs, best.sum.jobs);
    NetworkCycles& cycles = all.cycles.emplace_back();
    cycles.published = &network;
    cycles.htvm = static_cast<double>(h.full);
    cycles.best = static_cast<double>(best.sum.full);
    if (cpu.ok()) cycles.cpu = static_cast<double>(cpu->sum.full);
    cycles.analog = analog;
    cycles.mixed = mixed;
    all.best.push_back(best);
    all.htvm.push_back({&network, htvm});
  }
  return all;
}

void PrintSpentOf(const Networks& networks) {
  std::cout << absl::StreamFormat(
      "\nthousands of cycles by what they are spent on; block is the bound of "
      "the array's cost model\n%-10s %-8s %8s | %8s %8s %8s %7s %9s %8s %8s "
      "%7s\n",
      "network", "recipe", "full", "block", "weights", "jobs", "loops",
      "transfers", "relayout", "host ops", "other");
  for (size_t i = 0; i < networks.htvm.size(); ++i) {
    const char* const name = networks.htvm[i].published->name;
    PrintSpent(name, "htvm", networks.htvm[i].figures);
    PrintSpent(name, "default", networks.best[i]);
  }
}

absl::Status Main(const DianaCompiler& compiler,
                  const std::vector<std::string>& only) {
  const auto wanted = [&](const char* part) {
    return only.empty() ||
           std::find(only.begin(), only.end(), part) != only.end();
  };
  int beyond = 0;
  EK_ASSIGN_OR_RETURN(const Networks networks, PrintTable(compiler, beyond));
  if (wanted("arrays")) {
    EK_ASSIGN_OR_RETURN(const int wrong,
                        PrintArrays(compiler, networks.cycles));
    beyond += wrong;
  }
  if (wanted("fit")) beyond += PrintFit(networks.htvm);
  if (wanted("speed")) PrintSpeed(networks.cycles);
  if (wanted("spent")) PrintSpentOf(networks);
  if (wanted("losses")) {
    PrintLosses(networks.htvm);
    EK_RETURN_IF_ERROR(PrintLayers(compiler));
  }
  if (wanted("sizes")) EK_RETURN_IF_ERROR(PrintSizes(compiler));
  if (wanted("budgets")) {
    EK_ASSIGN_OR_RETURN(const int wrong, PrintBudgets(compiler));
    beyond += wrong;
  }
  std::cout << (beyond == 0
                    ? "\nevery figure with a limit is within it\n"
                    : absl::StrCat("\n", beyond, " beyond their limits\n"));
  return absl::OkStatus();
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) {
  std::string edgekiln =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() /
      "edgekiln";
  std::string shared = EK_SHARED_DIR;
  std::string variants;
  std::vector<std::string> only;
  CLI::App app("The networks of HTVM's Table I on DIANA");
  app.add_option("--edgekiln", edgekiln, "The command line")
      ->capture_default_str();
  app.add_option("--shared", shared, "Where models/ is")->capture_default_str();
  app.add_option("--variants", variants,
                 "Where make_htvm_variants.py --engine analog wrote to");
  app.add_option(
      "--only", only,
      "Beside Table I: arrays, fit, speed, spent, losses, sizes, budgets");
  CLI11_PARSE(app, argc, argv);
  const auto compiler =
      edgekiln::bench::DianaCompiler::Create(edgekiln, shared, variants);
  const absl::Status status = compiler.ok()
                                  ? edgekiln::bench::Main(*compiler, only)
                                  : compiler.status();
  if (!status.ok()) std::cerr << "bench_diana: " << status << "\n";
  return status.ok() ? 0 : 1;
}
