// What quantization costs: accuracy against the float network on data that was
// not calibrated on, and CPU time against interpreting the samples once.
//
//   bench_quantize [--shared DIR] [--example DIR] [--only NAME,..]
//                  [--config TEXT] [--needs TEXT] [--layers]
//                  [--write-photos FILE] [--write-sweep FOLDER]
//
// The last column names the integer network by the beginning of its digest.
// The sweep is that of docs/quantization.md: edgekiln sweep run
// FOLDER/sweep.txtpb

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
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
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "compiler/dataset/convert.h"
#include "compiler/frontend/import.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/pipeline.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"
#include "google/protobuf/text_format.h"
#include "tests/bench/measure.h"
#include "tests/bench/networks.h"
#include "tests/quantize/augmented_photos.h"
#include "tests/quantize/keyword_maps.h"
#include "tests/support/npz.h"
#include "tests/support/npz_writer.h"

namespace edgekiln::bench {
namespace {

using compiler::Graph;
using compiler::Interpreter;

constexpr char kPhotos[] = "192 photos";
constexpr char kRecordings[] = "498 keyword maps";  // The first 198 calibrate.
constexpr char kWords[] = "500 keyword maps";

struct Subject {
  const char* name;
  const char* model;        // Under --shared, or --example, as the data.
  const char* calibration;  // Its first `calibrated` samples.
  int64_t calibrated;
  const char* data;
  int64_t first;  // Of `data`, that is measured.
  double scale;
  double offset;
};

constexpr double kMnistScale = 1 / (255 * 0.3081);
constexpr double kMnistOffset = -0.1307 / 0.3081;

// Files of the folder --example.
constexpr absl::string_view kExample = "example/";

const Subject kSubjects[] = {
    {"digits", "example/digits.onnx", "example/digits_calibration.npz", 200,
     "example/digits_test.npz", 0, 1, 0},
    {"mnist_cnn", "mnist_cnn_fp32.onnx", "mnist_2k.npz", 200, "mnist_2k.npz",
     200, 1, 0},
    {"lenet", "lenet_fp32.onnx", "mnist_2k.npz", 200, "mnist_2k.npz", 200,
     kMnistScale, kMnistOffset},
    {"mnist_mlp", "mnist_mlp_fp32.onnx", "mnist_2k.npz", 200, "mnist_2k.npz",
     200, kMnistScale, kMnistOffset},
    {"dscnn", "dscnn_fp32.onnx", "kws_500.npz", 200, "kws_500.npz", 200, 1, 0},
    {"microkws", "microkws_fp32.onnx", kRecordings, 198, kRecordings, 198, 1,
     0},
    {"microkws_words", "microkws_fp32.onnx", kWords, 200, kWords, 200, 1, 0},
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

using Arrays = std::map<std::string, tests::NpyArray>;

// Three recordings, changed; see keyword_maps.h.
tests::NpyArray Recordings(const std::string& shared) {
  const Arrays golden =
      OrDie(tests::ReadNpz(shared + "/models/golden/microkws_fp32.npz"));
  std::vector<tests::NpyArray> recorded;
  for (const auto& [name, array] : golden) {
    // The fourth is random.
    if (absl::StartsWith(name, "input_") && recorded.size() < 3) {
      recorded.push_back(array);
    }
  }
  tests::NpyArray maps = tests::AugmentedMaps(recorded, 66, 1);
  const tests::NpyArray measured = tests::AugmentedMaps(recorded, 100, 2);
  maps.shape[0] += measured.shape[0];
  maps.data += measured.data;
  return maps;
}

struct Folders {
  std::string shared = "../shared";
  std::string example = "docs/example";

  // Of a file that lies in `kind` of the former.
  std::string PathOf(absl::string_view file, absl::string_view kind) const {
    if (absl::ConsumePrefix(&file, kExample)) {
      return absl::StrCat(example, "/", file);
    }
    return absl::StrCat(shared, "/", kind, "/", file);
  }
};

Arrays ArraysOf(const std::string& file, const Folders& folders) {
  const std::string& shared = folders.shared;
  if (file == kRecordings) return {{"x", Recordings(shared)}};
  if (file == kWords) {
    return {{"x", tests::KeywordMaps(
                      OrDie(tests::ReadNpz(shared + "/data/kws_500.npz")))}};
  }
  return OrDie(tests::ReadNpz(folders.PathOf(file, "data")));
}

constexpr size_t kDigitsOfName = 12;
// The least time of so many interpretations: others have the processor, too.
constexpr int kInterpretations = 3;

void Bench(const Subject& subject, const Folders& folders,
           const v1::QuantizeOptions& options, bool layers,
           const std::string& photos) {
  const auto load = [&](const std::string& file) {
    return ArraysOf(file, folders);
  };
  Graph graph = OrDie(LoadFloat(folders.PathOf(subject.model, "models")));
  compiler::ConvertedData calibration;
  compiler::ConvertedData data;
  if (std::string(subject.data) == kPhotos) {
    calibration = Converted(graph, subject, photos);
    data = calibration;
  } else {
    const auto stored = load(subject.calibration);
    calibration =
        Converted(graph, subject, Rows(stored, 0, subject.calibrated));
    const auto measured = load(subject.data);
    data = Converted(graph, subject,
                     Rows(measured, subject.first,
                          measured.at("x").shape[0] - subject.first));
  }
  double begin = 0;
  double interpreting = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kInterpretations; ++i) {
    begin = ProcessCpuSeconds();
    Outputs(graph, calibration);
    interpreting = std::min(interpreting, ProcessCpuSeconds() - begin);
  }
  begin = ProcessCpuSeconds();
  const v1::CalibrationStatistics statistics =
      OrDie(compiler::Calibrate(graph, calibration.chunks));
  const double calibrating = ProcessCpuSeconds() - begin;
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
  begin = ProcessCpuSeconds();
  const compiler::QuantizedNetwork network = OrDie(compiler::Quantize(
      graph, options,
      {.statistics = statistics, .samples = calibration.chunks}));
  const double quantizing = ProcessCpuSeconds() - begin;
  const Measured ours =
      Compare(real, Outputs(network.graph, data), data.labels);
  std::cout << std::fixed << std::setprecision(2) << std::left << std::setw(15)
            << subject.name << std::right << std::setw(7) << ours.decibels
            << std::setw(7) << ours.decibels - extremes.decibels << std::setw(8)
            << 100.0 * static_cast<double>(ours.agree) /
                   static_cast<double>(real.size())
            << std::setw(8)
            << 100.0 * static_cast<double>(extremes.agree) /
                   static_cast<double>(real.size())
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
void WriteSweep(const std::string& shared, const std::string& folder) {
  std::string models;
  for (const Subject& subject : kSubjects) {
    if (std::string(subject.data) == kPhotos ||
        absl::StrContains(subject.name, "microkws") ||
        absl::StrContains(subject.name, "_more") ||
        absl::StartsWith(subject.model, kExample)) {
      continue;
    }
    const auto write = [&](const char* part, const std::string& bytes) {
      std::ofstream(absl::StrCat(folder, "/", subject.name, part),
                    std::ios::binary)
          << bytes;
    };
    const auto calibration = OrDie(
        tests::ReadNpz(absl::StrCat(shared, "/data/", subject.calibration)));
    write("_calibration.npz", Rows(calibration, 0, subject.calibrated));
    const auto data =
        OrDie(tests::ReadNpz(absl::StrCat(shared, "/data/", subject.data)));
    write("_data.npz",
          Rows(data, subject.first, data.at("x").shape[0] - subject.first));
    absl::StrAppend(&models, "  models {\n    name: \"", subject.name,
                    "\" file: \"", std::filesystem::absolute(shared).string(),
                    "/models/", subject.model, "\"\n    calibration { file: \"",
                    subject.name, "_calibration.npz\" } data { file: \"",
                    subject.name, "_data.npz\" }\n    transforms { scale: ",
                    absl::StrFormat("%.17g", subject.scale),
                    " offset: ", absl::StrFormat("%.17g", subject.offset),
                    " }\n  }\n");
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
  const std::string& shared = folders.shared;
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
    WriteSweep(shared, write_sweep);
    return 0;
  }
  const auto augmented = [&] {
    const auto photos = OrDie(tests::ReadNpz(shared + "/data/photos_4.npz"));
    return tests::NpzBytes(
        {{"x", tests::AugmentedPhotos(photos.at("x"), 48, 1)}});
  };
  if (!write_photos.empty()) {
    std::ofstream(write_photos, std::ios::binary) << augmented();
    return 0;
  }
  std::cout << "                    dB  ahead  agree  min-max float  ours"
               " min-max        interpret  calib  quant  network\n";
  for (const Subject& subject : kSubjects) {
    if (!only.empty() &&
        std::find(only.begin(), only.end(), subject.name) == only.end()) {
      continue;
    }
    const bool photos = std::string(subject.data) == kPhotos;
    Bench(subject, folders, Options(config, needs), layers,
          photos ? augmented() : "");
  }
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) { return edgekiln::bench::Main(argc, argv); }
