// The four networks of HTVM's Table I on DIANA's digital array: cycles by
// recipe beside the published ones, and how far `default` is below `htvm`.
//
//   bench_diana [--edgekiln FILE] [--shared DIR]
//
// Published figures do not count what brings a network's input and output into
// the array's layout; nor do these.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "target/host_cost.h"
#include "target/move_cost.h"
#include "target/resolve.h"
#include "tests/bench/program.h"

namespace edgekiln::bench {
namespace {

// Van Delm et al., HTVM, Table I at 260 MHz: milliseconds. 0: out of memory.
struct Published {
  const char* name;
  const char* model;
  double cpu_ms;
  double peak_ms;
  double full_ms;
  double default_limit;  // Of recipe htvm, for recipe default.
};
constexpr Published kPublished[] = {
    {"ResNet", "htvm_resnet8_digital.onnx", 134.11, 0.66, 1.19, 0.50},
    {"DS-CNN", "htvm_dscnn_digital.onnx", 48.24, 1.70, 1.75, 0.42},
    {"MobileNet", "htvm_mobilenet_v1_0.25_96_digital.onnx", 0, 5.42, 5.68,
     0.35},
    {"ToyAdmos", "htvm_ad_digital.onnx", 4.70, 0.30, 0.36, 0.90},
};
constexpr double kCyclesPerMs = 260'000;

struct Cycles {
  int64_t full = 0;  // Without moves of the network's inputs and outputs.
  int64_t peak = 0;  // And without transfers and loops around jobs.
  int64_t jobs = 0;
  int64_t depthwise_jobs = 0;
  int64_t macs_on_array = 0;
  int64_t macs = 0;
};

absl::StatusOr<v1::Program> ReadProgram(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  v1::Program program;
  if (!program.ParseFromString(bytes.str()) || program.steps().empty()) {
    return absl::NotFoundError(absl::StrCat(path, " holds no program"));
  }
  return program;
}

absl::StatusOr<Cycles> CyclesOf(const v1::Program& program,
                                const v1::Machine& machine) {
  EK_ASSIGN_OR_RETURN(const target::HostCosts costs,
                      target::HostCosts::Create(machine));
  // What is moved before the first job and after the last one.
  int first = program.steps_size();
  int last = 0;
  for (int s = 0; s < program.steps_size(); ++s) {
    const v1::Program::Step& step = program.steps(s);
    if (!step.has_register_writes() && !step.has_host_op()) continue;
    first = std::min(first, s);
    last = s;
  }
  Cycles cycles;
  int64_t transfers = 0;
  int64_t at_borders = 0;
  for (int s = 0; s < program.steps_size(); ++s) {
    const v1::Program::Step& step = program.steps(s);
    if (step.has_register_writes()) {
      const bool depthwise =
          program.layers(step.register_writes().layer()).kind() == v1::DEPTH;
      ++cycles.jobs;
      if (depthwise) ++cycles.depthwise_jobs;
    }
    if (!step.has_move()) continue;
    const v1::Program::Move& move = step.move();
    const v1::Layout& from = program.layouts(move.from_layout());
    const v1::Layout& to = program.layouts(move.to_layout());
    int64_t taken = 0;
    if (move.link() < 0) {
      int64_t bytes = from.element_bits() / 8;
      for (const int64_t extent : from.extents()) bytes *= extent;
      EK_ASSIGN_OR_RETURN(taken, costs.CopyCycles(bytes));
    } else {
      EK_ASSIGN_OR_RETURN(
          taken, target::MoveCycles(machine.links(move.link()), from, to));
    }
    const bool border = s < first || s > last;
    if (border) {
      at_borders += taken;
    } else if (move.link() >= 0) {
      transfers += taken;
    }
  }
  cycles.full = program.predicted_cycles() - at_borders;
  cycles.peak = cycles.full - transfers;
  for (const v1::Program::Layer& layer : program.layers()) {
    cycles.macs += layer.macs();
    if (layer.engine() >= 0) cycles.macs_on_array += layer.macs();
  }
  return cycles;
}

// Least squares of the relative errors of both columns over job_cycles and
// depthwise_cycles, which are linear in them: by how much each should change.
// With `priors`, both are held near what the descriptor has.
struct Fit {
  double job = 0;
  double depthwise = 0;
};
struct Measured {
  const Published* published = nullptr;
  Cycles cycles;
};
constexpr double kJobPrior = 60;  // Standard deviations, in cycles ..
constexpr double kDepthwisePrior = 150;
constexpr double kErrorPrior = 0.1;  // .. and of a relative error.

Fit FitOf(const std::vector<Measured>& networks, size_t left_out, bool priors) {
  double a[2][2] = {{0, 0}, {0, 0}};
  double b[2] = {0, 0};
  for (size_t i = 0; i < networks.size(); ++i) {
    if (i == left_out) continue;
    const Cycles& cycles = networks[i].cycles;
    for (const auto& [value, ms] :
         {std::pair(cycles.full, networks[i].published->full_ms),
          std::pair(cycles.peak, networks[i].published->peak_ms)}) {
      const double whole = ms * kCyclesPerMs;
      const double slope[2] = {
          static_cast<double>(cycles.jobs) / whole,
          static_cast<double>(cycles.depthwise_jobs) / whole};
      const double error = static_cast<double>(value) / whole - 1;
      for (int r = 0; r < 2; ++r) {
        for (int c = 0; c < 2; ++c) a[r][c] += slope[r] * slope[c];
        b[r] -= slope[r] * error;
      }
    }
  }
  if (priors) {
    a[0][0] += kErrorPrior * kErrorPrior / (kJobPrior * kJobPrior);
    a[1][1] += kErrorPrior * kErrorPrior / (kDepthwisePrior * kDepthwisePrior);
  }
  const double det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
  return {(b[0] * a[1][1] - b[1] * a[0][1]) / det,
          (b[1] * a[0][0] - b[0] * a[1][0]) / det};
}

double PercentOff(double value, double published) {
  return 100 * (value / published - 1);
}

void PrintFit(const std::vector<Measured>& networks) {
  const Fit all = FitOf(networks, networks.size(), /*priors=*/false);
  std::cout << absl::StreamFormat(
      "least squares of all networks: job_cycles %+.0f, depthwise_cycles "
      "%+.0f\nleave one out, with priors of %.0f and %.0f cycles:\n",
      all.job, all.depthwise, kJobPrior, kDepthwisePrior);
  for (size_t i = 0; i < networks.size(); ++i) {
    const Fit fit = FitOf(networks, i, /*priors=*/true);
    const Cycles& cycles = networks[i].cycles;
    const double change =
        fit.job * static_cast<double>(cycles.jobs) +
        fit.depthwise * static_cast<double>(cycles.depthwise_jobs);
    const Published& published = *networks[i].published;
    std::cout << absl::StreamFormat(
        "%-10s accelerator %+.1f %%, full %+.1f %%\n", published.name,
        PercentOff(static_cast<double>(cycles.peak) + change,
                   published.peak_ms * kCyclesPerMs),
        PercentOff(static_cast<double>(cycles.full) + change,
                   published.full_ms * kCyclesPerMs));
  }
}

absl::StatusOr<int> Main(const std::string& edgekiln,
                         const std::string& shared) {
  EK_ASSIGN_OR_RETURN(const v1::ResolvedTarget target,
                      target::ResolveTarget("extends: \"diana\""));
  const ScratchFolder folder;
  const auto compile =
      [&](const Published& network, const std::string& chip,
          const std::string& recipe) -> absl::StatusOr<Cycles> {
    const std::string out =
        folder.At(absl::StrCat(network.name, "-", chip, "-", recipe));
    EK_RETURN_IF_ERROR(
        RunProgram({edgekiln, "compile",
                    absl::StrCat(shared, "/models/", network.model), "--target",
                    chip, "--recipe", recipe, "-o", out})
            .status());
    EK_ASSIGN_OR_RETURN(const v1::Program program,
                        ReadProgram(absl::StrCat(out, "/program.pb")));
    return CyclesOf(program, target.machine());
  };
  std::cout << "thousands of cycles at 260 MHz; % is off the published figure\n"
            << absl::StreamFormat(
                   "%-10s %18s %18s %9s | %8s %7s %7s | %7s %9s\n", "network",
                   "htvm, accelerator", "htvm, full", "fixed", "default",
                   "/htvm", "limit", "on CPU", "array MAC");
  int worse = 0;
  std::vector<Measured> measured;
  for (const Published& network : kPublished) {
    EK_ASSIGN_OR_RETURN(const Cycles htvm, compile(network, "diana", "htvm"));
    EK_ASSIGN_OR_RETURN(const Cycles fixed,
                        compile(network, "diana", "htvm-fixed"));
    EK_ASSIGN_OR_RETURN(const Cycles best,
                        compile(network, "diana", "default"));
    measured.push_back({&network, htvm});
    const auto cpu = compile(network, "diana-cpu", "default");
    const double ratio =
        static_cast<double>(best.full) / static_cast<double>(htvm.full);
    if (ratio > network.default_limit) ++worse;
    std::cout << absl::StreamFormat(
        "%-10s %8.1f (%+6.1f %%) %8.1f (%+6.1f %%) %9.1f | %8.1f %7.3f %7.2f | "
        "%7s %8.1f%%\n",
        network.name, htvm.peak / 1e3,
        PercentOff(static_cast<double>(htvm.peak),
                   network.peak_ms * kCyclesPerMs),
        htvm.full / 1e3,
        PercentOff(static_cast<double>(htvm.full),
                   network.full_ms * kCyclesPerMs),
        fixed.full / 1e3, best.full / 1e3, ratio, network.default_limit,
        cpu.ok() && network.cpu_ms > 0
            ? absl::StrFormat("%+.1f%%",
                              PercentOff(static_cast<double>(cpu->full),
                                         network.cpu_ms * kCyclesPerMs))
            : (cpu.ok() ? "fits" : "refused"),
        100.0 * static_cast<double>(best.macs_on_array) /
            static_cast<double>(best.macs));
    std::cout << absl::StreamFormat("%-10s %d jobs in htvm, %d in default\n",
                                    "", htvm.jobs, best.jobs);
  }
  std::cout << (worse == 0 ? "every network is within its limit\n"
                           : absl::StrCat(worse, " above the limit\n"));
  PrintFit(measured);
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) {
  std::string edgekiln =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() /
      "edgekiln";
  std::string shared = EK_SHARED_DIR;
  CLI::App app("The networks of HTVM's Table I on DIANA");
  app.add_option("--edgekiln", edgekiln, "The command line")
      ->capture_default_str();
  app.add_option("--shared", shared, "Where models/ is")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto result = edgekiln::bench::Main(edgekiln, shared);
  if (result.ok()) return *result;
  std::cerr << result.status() << "\n";
  return 1;
}
