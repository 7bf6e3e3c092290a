// What quantization costs: accuracy against the float network on data that was
// not calibrated on, and CPU time against interpreting the samples once:
// medians of several runs of each, in turns.
//
//   bench_quantize [--shared DIR] [--example DIR] [--only NAME,..]
//                  [--config TEXT] [--needs TEXT] [--layers]
//                  [--write-photos FILE] [--write-sweep FOLDER]
//
// The last column names the integer network by the beginning of its digest.
// The sweep is that of docs/quantization.md: edgekiln sweep run
// FOLDER/sweep.txtpb

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "base/memory.h"
#include "compiler/passes/pipeline.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"
#include "google/protobuf/text_format.h"
#include "tests/bench/labelled_networks.h"
#include "tests/bench/networks.h"
#include "tests/support/npz.h"

namespace edgekiln::bench {
namespace {

v1::QuantizeOptions Options(const std::string& config,
                            const std::string& needs) {
  v1::QuantizeOptions options;
  if (!google::protobuf::TextFormat::ParseFromString(
          config, options.mutable_config()) ||
      !google::protobuf::TextFormat::ParseFromString(needs,
                                                     options.mutable_needs())) {
    OrDie(absl::InvalidArgumentError("--config or --needs does not parse"));
  }
  return options;
}

void PrintLayers(const v1::QuantizationReport& report) {
  for (const v1::QuantizedLayer& layer : report.layers()) {
    std::cout << "    " << std::left << std::setw(34) << layer.id()
              << std::right << std::setw(8) << layer.weight_sqnr_db()
              << std::setw(8) << layer.worst_channel_sqnr_db() << std::setw(9)
              << layer.range_low() << std::setw(9) << layer.range_high()
              << std::setw(9) << layer.seen_low() << std::setw(9)
              << layer.seen_high() << std::setw(9) << 100 * layer.saturated()
              << std::setw(9) << 100 * layer.adapted_weights() << std::setw(9)
              << 100 * layer.clipped_weights() << std::setw(8)
              << layer.output_sqnr_db() << (layer.is_float() ? " float" : "")
              << "\n";
  }
}

constexpr size_t kDigitsOfName = 12;

void Bench(const LabelledNetwork& subject, const Folders& folders,
           const v1::QuantizeOptions& options, bool layers) {
  const auto [graph, calibration, data] = Load(subject, folders);
  const v1::CalibrationStatistics statistics =
      OrDie(compiler::Calibrate(graph, calibration.chunks));
  const auto quantize = [&] {
    return OrDie(compiler::Quantize(
        graph, options,
        {.statistics = statistics, .samples = calibration.chunks}));
  };
  const compiler::QuantizedNetwork network = quantize();
  const std::vector<double> seconds = MedianSeconds(
      {[&] { Outputs(graph, calibration); },
       [&] { OrDie(compiler::Calibrate(graph, calibration.chunks)); },
       [&] { quantize(); }});
  const double interpreting = seconds[0];
  const double calibrating = seconds[1];
  const double quantizing = seconds[2];
  const auto real = Outputs(graph, data);

  v1::QuantizeOptions plain = options;
  plain.mutable_config()->mutable_ranges()->set_method(
      v1::CalibrateOptions::MIN_MAX);
  const Measured extremes = Compare(
      real,
      Outputs(
          OrDie(compiler::Quantize(graph, plain, {.statistics = statistics}))
              .graph,
          data),
      data.labels);
  const Measured ours =
      Compare(real, Outputs(network.graph, data), data.labels);
  std::cout << std::fixed << std::setprecision(2) << std::left << std::setw(15)
            << subject.name << std::right << std::setw(7) << ours.decibels
            << std::setw(7) << ours.decibels - extremes.decibels << std::setw(8)
            << ours.AgreePercent() << std::setw(8) << extremes.AgreePercent()
            << std::setw(6) << ours.float_correct << std::setw(6)
            << ours.correct << std::setw(6) << extremes.correct << " of "
            << std::setw(4) << ours.labelled << std::setw(9)
            << interpreting * 1e3 << std::setw(7) << calibrating / interpreting
            << std::setw(7) << quantizing / interpreting << "  "
            << DigestOf(
                   compiler::GraphToProto(network.graph).SerializeAsString())
                   .hash.substr(0, kDigitsOfName)
            << "\n";
  if (layers) PrintLayers(network.report);
}

// Samples to calibrate and to measure, and a request for all labelled networks
// by scheme and chip.
void WriteSweep(const Folders& folders, const std::string& folder) {
  std::string models;
  for (const LabelledNetwork& subject : LabelledNetworks()) {
    if (!HasFiles(subject) || absl::StrContains(subject.name, "_more") ||
        absl::StrContains(subject.model, "/")) {
      continue;
    }
    const auto write = [&](const char* part, const std::string& bytes) {
      std::ofstream(absl::StrCat(folder, "/", subject.name, part),
                    std::ios::binary)
          << bytes;
    };
    const auto read = [&](const char* file) {
      return OrDie(tests::ReadNpz(folders.PathOf(file, "data")));
    };
    write("_calibration.npz",
          Samples(read(subject.calibration), 0, subject.calibrated));
    write("_data.npz", Samples(read(subject.data), subject.first));
    absl::StrAppend(
        &models, "  models {\n    name: \"", subject.name, "\" file: \"",
        std::filesystem::absolute(folders.PathOf(subject.model, "models"))
            .string(),
        "\"\n    calibration { file: \"", subject.name,
        "_calibration.npz\" } data { file: \"", subject.name,
        "_data.npz\" }\n    transforms { scale: ",
        absl::StrFormat("%.17g", subject.scale),
        " offset: ", absl::StrFormat("%.17g", subject.offset), " }\n  }\n");
  }
  std::ofstream(folder + "/int4.txtpb") << "scheme { weights: INT4 }\n";
  std::ofstream(folder + "/ternary.txtpb") << "scheme { weights: TERNARY }\n";
  std::ofstream(folder + "/sweep.txtpb")
      << "groups {\n"
      << models
      << "  targets { name: \"dla-64-o-512k\" }\n"
         "  vary { key: \"quantization\" values: \"default\" values: "
         "\"int4.txtpb\" values: \"ternary.txtpb\" }\n"
         "  goal: SWEEP_VALIDATE\n}\ngroups {\n"
      << models
      << "  targets { name: \"toy-shift\" } targets { name: "
         "\"toy-shift-floor\" } targets { name: \"toy-int4\" }\n"
         "  goal: SWEEP_VALIDATE\n}\n";
}

int Main(int argc, char** argv) {
  CLI::App app("What quantization costs in accuracy and time");
  Folders folders;
  std::vector<std::string> only;
  std::string config;
  std::string needs;
  std::string write_photos;
  bool layers = false;
  app.add_option("--shared", folders.shared, "Folder with models/ and data/")
      ->capture_default_str();
  app.add_option("--example", folders.example, "Folder of the example model")
      ->capture_default_str();
  app.add_option("--only", only, "Names of networks")->delimiter(',');
  app.add_option("--config", config, "A QuantizationConfig");
  app.add_option("--needs", needs, "QuantizationNeeds of a target");
  app.add_flag("--layers", layers, "Every layer, too");
  app.add_option("--write-photos", write_photos,
                 "Only write the augmented photos to this .npz");
  std::string write_sweep;
  app.add_option("--write-sweep", write_sweep,
                 "Only write the sweep of docs/quantization.md to this folder");
  CLI11_PARSE(app, argc, argv);
  if (!write_sweep.empty()) {
    WriteSweep(folders, write_sweep);
    return 0;
  }
  if (!write_photos.empty()) {
    std::ofstream(write_photos, std::ios::binary) << AugmentedPhotos(folders);
    return 0;
  }
  std::cout << "                    dB  ahead  agree  min-max float  ours"
               " min-max        interpret  calib  quant  network\n";
  for (const LabelledNetwork& subject : LabelledNetworks()) {
    if (!only.empty() &&
        std::find(only.begin(), only.end(), subject.name) == only.end()) {
      continue;
    }
    Bench(subject, folders, Options(config, needs), layers);
  }
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) {
  edgekiln::KeepFreedMemory();  // As a worker's children do.
  return edgekiln::bench::Main(argc, argv);
}
