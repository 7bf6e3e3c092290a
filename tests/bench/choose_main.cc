// What choosing schemes on a chip with two engines comes to: the chosen
// combination beside the best of all of them, which is found by quantizing each
// with all samples and measuring it on data that nothing was fitted to.
//
//   bench_choose [--shared DIR] [--target NAME] [--budget PPM] [--only NAME,..]
//                [--all]

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "compiler/choose/choose.h"
#include "compiler/choose/scheme_forms.h"
#include "compiler/dataset/convert.h"
#include "compiler/frontend/import.h"
#include "compiler/ir/graph_outline.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/pipeline.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"
#include "target/quantization_needs.h"
#include "target/resolve.h"
#include "tests/bench/measure.h"
#include "tests/bench/networks.h"
#include "tests/support/npz.h"
#include "tests/support/npz_writer.h"

namespace edgekiln::bench {
namespace {

using compiler::Graph;
using compiler::Interpreter;

constexpr char kPhotos[] = "192 photos";

struct Subject {
  const char* name;
  const char* model;        // Under EK_SHARED_DIR, as the data.
  const char* calibration;  // Its first `calibrated` samples.
  int64_t calibrated;
  const char* data;
  int64_t first;  // Of `data`, that is measured.
  double scale;
  double offset;
};

constexpr double kMnistScale = 1 / (255 * 0.3081);
constexpr double kMnistOffset = -0.1307 / 0.3081;

const Subject kSubjects[] = {
    {"mnist_cnn", "mnist_cnn_fp32.onnx", "mnist_2k.npz", 200, "mnist_2k.npz",
     200, 1, 0},
    {"lenet", "lenet_fp32.onnx", "mnist_2k.npz", 200, "mnist_2k.npz", 200,
     kMnistScale, kMnistOffset},
    {"mnist_mlp", "mnist_mlp_fp32.onnx", "mnist_2k.npz", 200, "mnist_2k.npz",
     200, kMnistScale, kMnistOffset},
    {"dscnn", "dscnn_fp32.onnx", "kws_500.npz", 200, "kws_500.npz", 200, 1, 0},
    {"resnet8", "resnet8_fp32.onnx", "cifar10_calib_487.npz", 200,
     "cifar10_ic_100.npz", 0, 1, 0},
    {"resnet8_tflite", "resnet8_fp32.tflite", "cifar10_calib_487.npz", 200,
     "cifar10_ic_100.npz", 0, 1, 0},
    // More pictures, without labels: ratios of noise are steadier.
    {"resnet8_more", "resnet8_fp32.onnx", "cifar10_calib_487.npz", 200,
     "cifar10_calib_487.npz", 200, 1, 0},
    {"resnet8_tflite_more", "resnet8_fp32.tflite", "cifar10_calib_487.npz", 200,
     "cifar10_calib_487.npz", 200, 1, 0},
    {"mobilenet", "mobilenet_v1_0.25_224_fp32.tflite", kPhotos, 192, kPhotos, 0,
     1 / 127.5, -1},
};

// Rows of an .npz, as the file of another one.
std::string Rows(const std::map<std::string, tests::NpyArray>& arrays,
                 int64_t first, int64_t count) {
  std::map<std::string, tests::NpyArray> cut = arrays;
  const int64_t all = arrays.at("x").shape[0];
  for (auto& [name, array] : cut) {
    if (array.shape.empty() || array.shape[0] != all) continue;
    const auto row = array.data.size() / static_cast<size_t>(all);
    array.data = array.data.substr(row * first, row * count);
    array.shape[0] = count;
  }
  return tests::NpzBytes(cut);
}

compiler::ConvertedData Converted(const Graph& graph, const Subject& subject,
                                  const std::string& npz) {
  v1::ConvertDataOptions options;
  options.set_chunk_samples(100);
  v1::InputTransform* transform = options.add_transforms();
  transform->add_scale(subject.scale);
  transform->add_offset(subject.offset);
  return OrDie(compiler::ConvertDataSet(
      options, {npz}, compiler::InputsOf(compiler::GraphToProto(graph))));
}

// First outputs of all samples.
std::vector<std::vector<float>> Outputs(const Graph& graph,
                                        const compiler::ConvertedData& data) {
  const std::unique_ptr<Interpreter> interpreter =
      OrDie(Interpreter::Create(graph));
  std::vector<std::vector<float>> outputs;
  for (const v1::Chunk& chunk : data.chunks) {
    const std::string& bytes = chunk.arrays(0).data();
    const size_t one = bytes.size() / static_cast<size_t>(chunk.samples());
    for (int64_t i = 0; i < chunk.samples(); ++i) {
      OrDie(interpreter->Run({absl::string_view(bytes).substr(i * one, one)}));
      const absl::string_view out = interpreter->value(graph.outputs[0]);
      outputs.emplace_back(out.size() / sizeof(float));
      std::memcpy(outputs.back().data(), out.data(), out.size());
    }
  }
  return outputs;
}

int64_t Best(const std::vector<float>& scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

struct Measured {
  double decibels = 0;
  double log_decibels = 0;  // Of logarithms, for what ends in a softmax.
  int64_t agree = 0;
  int64_t correct = 0;
  int64_t float_correct = 0;
  int64_t labelled = 0;
};

Measured Compare(const std::vector<std::vector<float>>& real,
                 const std::vector<std::vector<float>>& quantized,
                 const std::optional<v1::Labels>& labels) {
  Measured result;
  double signal = 0;
  double noise = 0;
  for (size_t i = 0; i < real.size(); ++i) {
    for (size_t c = 0; c < real[i].size(); ++c) {
      const double value = real[i][c];
      const double difference = value - quantized[i][c];
      signal += value * value;
      noise += difference * difference;
    }
    const int64_t best = Best(quantized[i]);
    result.agree += best == Best(real[i]) ? 1 : 0;
    if (!labels || labels->label(static_cast<int>(i)) < 0) continue;
    ++result.labelled;
    result.correct += best == labels->label(static_cast<int>(i)) ? 1 : 0;
    result.float_correct +=
        Best(real[i]) == labels->label(static_cast<int>(i)) ? 1 : 0;
  }
  result.decibels = 10 * std::log10(signal / noise);
  return result;
}

// The least time of so many counts: others have the processor, too.
constexpr int kInterpretations = 3;

struct Options {
  std::string shared = "../shared";
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

void Bench(const Subject& subject, const Options& bench) {
  const Graph graph =
      OrDie(LoadFloat(absl::StrCat(bench.shared, "/models/", subject.model)));
  const auto load = [&](const std::string& file) {
    return OrDie(tests::ReadNpz(absl::StrCat(bench.shared, "/data/", file)));
  };
  const compiler::ConvertedData calibration = Converted(
      graph, subject, Rows(load(subject.calibration), 0, subject.calibrated));
  const auto measured = load(subject.data);
  const compiler::ConvertedData data = Converted(
      graph, subject,
      Rows(measured, subject.first, measured.at("x").shape[0] - subject.first));
  const v1::ResolvedTarget target =
      OrDie(target::ResolveTarget("extends: \"" + bench.target + "\""));
  const v1::QuantizationNeeds needs =
      target::QuantizationNeedsOf(target.capabilities());
  const compiler::ChosenChip chip = {.capabilities = target.capabilities(),
                                     .machine = target.machine()};
  double interpreting = std::numeric_limits<double>::infinity();
  double begin = 0;
  for (int i = 0; i < kInterpretations; ++i) {
    begin = ProcessCpuSeconds();
    Outputs(graph, calibration);
    interpreting = std::min(interpreting, ProcessCpuSeconds() - begin);
  }
  const v1::CalibrationStatistics statistics =
      OrDie(compiler::Calibrate(graph, calibration.chunks));
  const compiler::QuantizeInputs inputs = {.statistics = statistics,
                                           .samples = calibration.chunks};
  v1::QuantizationConfig config;
  config.set_accuracy_budget_ppm(bench.budget);
  begin = ProcessCpuSeconds();
  const compiler::ChosenSchemes chosen =
      OrDie(compiler::ChooseSchemes(graph, needs, config, chip, inputs));
  const double choosing = ProcessCpuSeconds() - begin;
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
    const auto all = static_cast<double>(real.size());
    const int64_t cycles =
        OrDie(compiler::PredictNetwork(outline, needs, options.config(), chip))
            .cycles;
    std::cout << "  " << NameOf(layers, assignment) << " " << std::setw(9)
              << cycles << std::fixed << std::setprecision(2) << std::setw(8)
              << 100.0 * (all - static_cast<double>(found.agree)) / all
              << " % differ, correct " << found.correct << " of "
              << found.labelled << ", float " << found.float_correct << ", "
              << found.decibels << " dB" << (assignment == picked ? "  <-" : "")
              << "\n";
  }
}

int Main(int argc, char** argv) {
  CLI::App app("What choosing schemes comes to");
  Options options;
  std::vector<std::string> only;
  app.add_option("--shared", options.shared, "Folder with models/ and data/")
      ->capture_default_str();
  app.add_option("--target", options.target, "Built-in target")
      ->capture_default_str();
  app.add_option("--budget", options.budget, "Millionths of samples")
      ->capture_default_str();
  app.add_option("--only", only, "Names of networks")->delimiter(',');
  app.add_flag("--all", options.all, "Measure all combinations, too");
  CLI11_PARSE(app, argc, argv);
  for (const Subject& subject : kSubjects) {
    if (std::string(subject.data) == kPhotos) continue;
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

int main(int argc, char** argv) { return edgekiln::bench::Main(argc, argv); }
