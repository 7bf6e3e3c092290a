// What choosing schemes on a chip with two engines comes to: the chosen
// combination beside the best of all of them, which is found by quantizing each
// with all samples and measuring it on data that nothing was fitted to.
//
//   bench_choose [--shared DIR] [--example DIR] [--target NAME] [--budget PPM]
//                [--only NAME,..] [--all]

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/memory.h"
#include "compiler/choose/choose.h"
#include "compiler/choose/scheme_forms.h"
#include "compiler/ir/graph_outline.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"
#include "target/quantization_needs.h"
#include "target/resolve.h"
#include "tests/bench/labelled_networks.h"
#include "tests/bench/networks.h"

namespace edgekiln::bench {
namespace {

using compiler::Graph;

struct Options {
  Folders folders;
  std::string target = "toy-mixed";
  int32_t budget = 10'000;
  bool all = false;
};

std::string NameOf(const std::vector<compiler::LayerForms>& layers,
                   const compiler::Assignment& assignment) {
  std::string name;
  for (size_t i = 0; i < layers.size(); ++i) {
    name += "84t"[layers[i].weights[assignment[i]] - 1];
  }
  return name;
}

void Bench(const LabelledNetwork& subject, const Options& bench) {
  const auto [graph, calibration, data] = Load(subject, bench.folders);
  const v1::ResolvedTarget target =
      OrDie(target::ResolveTarget("extends: \"" + bench.target + "\""));
  const v1::QuantizationNeeds needs =
      target::QuantizationNeedsOf(target.capabilities());
  const compiler::ChosenChip chip = {.capabilities = target.capabilities(),
                                     .machine = target.machine()};
  const v1::CalibrationStatistics statistics =
      OrDie(compiler::Calibrate(graph, calibration.chunks));
  const compiler::QuantizeInputs inputs = {.statistics = statistics,
                                           .samples = calibration.chunks};
  v1::QuantizationConfig config;
  config.set_accuracy_budget_ppm(bench.budget);
  const auto choose = [&] {
    return OrDie(compiler::ChooseSchemes(graph, needs, config, chip, inputs));
  };
  const compiler::ChosenSchemes chosen = choose();
  const std::vector<double> seconds =
      MedianSeconds({[&] { Outputs(graph, calibration); }, [&] { choose(); }});
  const double interpreting = seconds[0];
  const double choosing = seconds[1];
  const auto layers = OrDie(compiler::FormsOf(graph, config, needs));
  const auto real = Outputs(graph, data);
  const Graph outline =
      OrDie(compiler::GraphFromOutline(compiler::OutlineOf(graph)));
  compiler::Assignment picked;
  for (const auto& layer : chosen.choice.layers()) {
    picked.push_back(layer.chosen());
  }
  std::cout << subject.name << ": chosen " << NameOf(layers, picked) << ", "
            << chosen.choice.predicted_cycles() << " of "
            << chosen.choice.most_exact_cycles() << " cycles, expected "
            << 100 * chosen.choice.disagreement() << " %, "
            << chosen.choice.assignments() << " measured, "
            << choosing / interpreting << " x interpreting (" << choosing * 1e3
            << " by " << interpreting * 1e3 << " ms)\n";
  if (!bench.all) return;
  int64_t count = 1;
  for (const auto& layer : layers) count *= std::ssize(layer.weights);
  for (int64_t number = 0; number < count; ++number) {
    compiler::Assignment assignment;
    int64_t rest = number;
    for (const auto& layer : layers) {
      assignment.push_back(
          static_cast<int32_t>(rest % std::ssize(layer.weights)));
      rest /= std::ssize(layer.weights);
    }
    v1::QuantizeOptions options;
    *options.mutable_needs() = needs;
    *options.mutable_config() =
        compiler::ConfigFor(graph, config, layers, assignment);
    const Graph quantized =
        OrDie(compiler::Quantize(graph, options, inputs)).graph;
    const Measured found = Compare(real, Outputs(quantized, data), data.labels);
    const int64_t cycles =
        OrDie(compiler::PredictNetwork(outline, needs, options.config(), chip))
            .cycles;
    std::cout << "  " << NameOf(layers, assignment) << " " << std::setw(9)
              << cycles << std::fixed << std::setprecision(2) << std::setw(8)
              << 100 - found.AgreePercent() << " % differ, correct "
              << found.correct << " of " << found.labelled << ", float "
              << found.float_correct << ", " << found.decibels << " dB"
              << (assignment == picked ? "  <-" : "") << "\n";
  }
}

int Main(int argc, char** argv) {
  CLI::App app("What choosing schemes comes to");
  Options options;
  std::vector<std::string> only;
  app.add_option("--shared", options.folders.shared,
                 "Folder with models/ and data/")
      ->capture_default_str();
  app.add_option("--example", options.folders.example,
                 "Folder of the example model")
      ->capture_default_str();
  app.add_option("--target", options.target, "Built-in target")
      ->capture_default_str();
  app.add_option("--budget", options.budget, "Millionths of samples")
      ->capture_default_str();
  app.add_option("--only", only, "Names of networks")->delimiter(',');
  app.add_flag("--all", options.all, "Measure all combinations, too");
  CLI11_PARSE(app, argc, argv);
  for (const LabelledNetwork& subject : LabelledNetworks()) {
    if (!HasFiles(subject)) continue;
    if (!only.empty() &&
        std::find(only.begin(), only.end(), subject.name) == only.end()) {
      continue;
    }
    Bench(subject, options);
  }
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) {
  edgekiln::KeepFreedMemory();  // As a worker's children do.
  return edgekiln::bench::Main(argc, argv);
}
