#include "tests/bench/labelled_networks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "compiler/dataset/convert.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/pipeline.h"
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

// Files of the folder of the example.
constexpr absl::string_view kExample = "example/";

constexpr double kMnistScale = 1 / (255 * 0.3081);
constexpr double kMnistOffset = -0.1307 / 0.3081;

constexpr LabelledNetwork kNetworks[] = {
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

compiler::ConvertedData Converted(const Graph& graph,
                                  const LabelledNetwork& network,
                                  const std::string& npz) {
  v1::ConvertDataOptions options;
  options.set_chunk_samples(100);
  v1::InputTransform* transform = options.add_transforms();
  transform->add_scale(network.scale);
  transform->add_offset(network.offset);
  return OrDie(compiler::ConvertDataSet(
      options, {npz}, compiler::InputsOf(compiler::GraphToProto(graph))));
}

// Three recordings, changed; see keyword_maps.h.
tests::NpyArray Recordings(const Folders& folders) {
  const Arrays golden = OrDie(
      tests::ReadNpz(folders.PathOf("golden/microkws_fp32.npz", "models")));
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

Arrays ArraysOf(absl::string_view file, const Folders& folders) {
  if (file == kRecordings) return {{"x", Recordings(folders)}};
  if (file == kWords) {
    return {{"x", tests::KeywordMaps(OrDie(
                      tests::ReadNpz(folders.PathOf("kws_500.npz", "data"))))}};
  }
  return OrDie(tests::ReadNpz(folders.PathOf(file, "data")));
}

int64_t Best(const std::vector<float>& scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

}  // namespace

absl::Span<const LabelledNetwork> LabelledNetworks() { return kNetworks; }

bool HasFiles(const LabelledNetwork& network) {
  const absl::string_view data = network.data;
  return data != kPhotos && data != kRecordings && data != kWords;
}

std::string Folders::PathOf(absl::string_view file,
                            absl::string_view kind) const {
  if (absl::ConsumePrefix(&file, kExample)) {
    return absl::StrCat(example, "/", file);
  }
  return absl::StrCat(shared, "/", kind, "/", file);
}

std::string Samples(const Arrays& arrays, int64_t first,
                    std::optional<int64_t> count) {
  Arrays cut = arrays;
  const int64_t all = arrays.at("x").shape[0];
  const int64_t taken = count.value_or(all - first);
  for (auto& [name, array] : cut) {
    if (array.shape.empty() || array.shape[0] != all) continue;
    const auto row = array.data.size() / static_cast<size_t>(all);
    array.data = array.data.substr(row * first, row * taken);
    array.shape[0] = taken;
  }
  return tests::NpzBytes(cut);
}

std::string AugmentedPhotos(const Folders& folders) {
  const auto photos =
      OrDie(tests::ReadNpz(folders.PathOf("photos_4.npz", "data")));
  return tests::NpzBytes(
      {{"x", tests::AugmentedPhotos(photos.at("x"), 48, 1)}});
}

LoadedNetwork Load(const LabelledNetwork& network, const Folders& folders) {
  LoadedNetwork loaded;
  loaded.graph = OrDie(LoadFloat(folders.PathOf(network.model, "models")));
  if (network.data == absl::string_view(kPhotos)) {
    loaded.calibration =
        Converted(loaded.graph, network, AugmentedPhotos(folders));
    loaded.data = loaded.calibration;
    return loaded;
  }
  loaded.calibration = Converted(
      loaded.graph, network,
      Samples(ArraysOf(network.calibration, folders), 0, network.calibrated));
  loaded.data =
      Converted(loaded.graph, network,
                Samples(ArraysOf(network.data, folders), network.first));
  return loaded;
}

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

std::vector<double> MedianSeconds(
    const std::vector<std::function<void()>>& subjects) {
  constexpr int kTurns = 5;
  constexpr int kLongTurns = 3;
  constexpr double kLongSeconds = 2;
  std::vector<std::vector<double>> seconds(subjects.size());
  double first = 0;
  for (int turn = 0; turn < (first > kLongSeconds ? kLongTurns : kTurns);
       ++turn) {
    for (size_t i = 0; i < subjects.size(); ++i) {
      const double begin = ProcessCpuSeconds();
      subjects[i]();
      seconds[i].push_back(ProcessCpuSeconds() - begin);
      if (turn == 0) first += seconds[i].back();
    }
  }
  std::vector<double> medians;
  for (const std::vector<double>& of : seconds) {
    medians.push_back(Quantile(of, 0.5));
  }
  return medians;
}

Measured Compare(const std::vector<std::vector<float>>& real,
                 const std::vector<std::vector<float>>& quantized,
                 const std::optional<v1::Labels>& labels) {
  Measured result;
  result.samples = static_cast<int64_t>(real.size());
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

}  // namespace edgekiln::bench
