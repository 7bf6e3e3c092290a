// Published networks and our own example: the share of samples that the int8
// form classifies correctly, next to that of the float form.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "compiler/dataset/convert.h"
#include "compiler/frontend/import.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/pipeline.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::compiler {
namespace {

// A way to quantize, and what it may cost.
struct Form {
  const char* name;
  const char* needs;   // QuantizationNeeds of a target.
  const char* config;  // QuantizationConfig.
  double most_lost;    // Share of samples, net.
  // Ratio of signal to noise at the outputs, less that of plain minima, maxima
  // and rounding to nearest.
  double least_ahead_db;
};

struct ModelCase {
  const char* name;
  std::string model;        // Under EK_SHARED_DIR, or of the repository.
  std::string calibration;  // The same.
  std::string data;
  double scale;  // Input transform.
  double offset;
  int64_t calibration_samples;
  int float_correct;  // Of all of `data`, as recorded; -1: not recorded.
  std::vector<Form> forms;
};

bool IsOurs(const std::string& path) { return path.starts_with("docs/"); }

std::string Read(const std::string& path) {
  return tests::ReadWholeFile(IsOurs(path) ? tests::SourcePath(path)
                                           : tests::SharedPath(path));
}

absl::StatusOr<ConvertedData> Load(const Graph& graph, const std::string& file,
                                   const ModelCase& model, int64_t limit) {
  v1::ConvertDataOptions options;
  options.set_limit(limit);
  options.set_chunk_samples(100);
  v1::InputTransform* transform = options.add_transforms();
  transform->add_scale(model.scale);
  transform->add_offset(model.offset);
  const std::string bytes = Read(file);
  return ConvertDataSet(options, {bytes}, InputsOf(GraphToProto(graph)));
}

// The first outputs for samples from number `first` on.
std::vector<std::vector<float>> Outputs(const Graph& graph,
                                        const ConvertedData& data,
                                        int64_t first) {
  std::vector<std::vector<float>> outputs;
  const auto interpreter = Interpreter::Create(graph);
  if (!interpreter.ok()) {
    ADD_FAILURE() << interpreter.status();
    return outputs;
  }
  for (const v1::Chunk& chunk : data.chunks) {
    const std::string& bytes = chunk.arrays(0).data();
    const size_t one = bytes.size() / static_cast<size_t>(chunk.samples());
    for (int64_t i = 0; i < chunk.samples(); ++i) {
      if (chunk.first_sample() + i < first) continue;
      const absl::string_view sample =
          absl::string_view(bytes).substr(static_cast<size_t>(i) * one, one);
      const absl::Status ran = (*interpreter)->Run({sample});
      if (!ran.ok()) {
        ADD_FAILURE() << ran;
        return outputs;
      }
      const absl::string_view out = (*interpreter)->value(graph.outputs[0]);
      std::vector<float>& scores = outputs.emplace_back();
      scores.resize(out.size() / sizeof(float));
      std::memcpy(scores.data(), out.data(), out.size());
    }
  }
  return outputs;
}

int64_t Best(const std::vector<float>& scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

int Correct(const std::vector<std::vector<float>>& outputs,
            const v1::Labels& labels, int64_t first) {
  int correct = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int at = static_cast<int>(first) + static_cast<int>(i);
    correct += Best(outputs[i]) == labels.label(at) ? 1 : 0;
  }
  return correct;
}

double Decibels(const std::vector<std::vector<float>>& real,
                const std::vector<std::vector<float>>& quantized) {
  double signal = 0;
  double noise = 0;
  for (size_t i = 0; i < real.size(); ++i) {
    for (size_t c = 0; c < real[i].size(); ++c) {
      const double difference = double{real[i][c]} - quantized[i][c];
      signal += double{real[i][c]} * real[i][c];
      noise += difference * difference;
    }
  }
  return 10 * std::log10(signal / noise);
}

class QuantizeModelsTest : public testing::TestWithParam<ModelCase> {};

void PrintTo(const ModelCase& row, std::ostream* out) { *out << row.name; }

TEST_P(QuantizeModelsTest, KeepsTheAccuracy) {
  const ModelCase& model = GetParam();
  for (const std::string& path : {model.model, model.calibration, model.data}) {
    if (!IsOurs(path)) EK_REQUIRE_SHARED(path);
  }
  absl::StatusOr<Graph> graph = ImportModel(Read(model.model));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::Status simplified = Simplify(*graph);
  ASSERT_TRUE(simplified.ok()) << simplified;
  const auto calibration =
      Load(*graph, model.calibration, model, model.calibration_samples);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  const auto statistics = Calibrate(*graph, calibration->chunks);
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  const auto data = Load(*graph, model.data, model, 0);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_TRUE(data->labels.has_value());
  if (model.float_correct >= 0) {
    EXPECT_EQ(Correct(Outputs(*graph, *data, 0), *data->labels, 0),
              model.float_correct);
  }
  // What was calibrated on is no test.
  const int64_t first =
      model.data == model.calibration ? model.calibration_samples : 0;
  const auto real = Outputs(*graph, *data, first);
  const int float_correct = Correct(real, *data->labels, first);
  const double samples = static_cast<double>(data->samples - first);
  EXPECT_GT(float_correct, samples * 0.8);
  RecordProperty("float_correct", float_correct);
  for (const Form& form : model.forms) {
    v1::QuantizeOptions options;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        form.needs, options.mutable_needs()));
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        form.config, options.mutable_config()));
    v1::QuantizeOptions plain = options;
    plain.mutable_config()->mutable_ranges()->set_method(
        v1::CalibrateOptions::MIN_MAX);
    const auto baseline = Quantize(*graph, plain, {.statistics = *statistics});
    ASSERT_TRUE(baseline.ok()) << baseline.status();
    const auto network =
        Quantize(*graph, options,
                 {.statistics = *statistics, .samples = calibration->chunks});
    ASSERT_TRUE(network.ok()) << network.status();
    const auto outputs = Outputs(network->graph, *data, first);
    const int correct = Correct(outputs, *data->labels, first);
    EXPECT_GE(correct, float_correct - form.most_lost * samples)
        << form.name << "; float " << float_correct << " of " << samples;
    const double ahead = Decibels(real, outputs) -
                         Decibels(real, Outputs(baseline->graph, *data, first));
    EXPECT_GE(ahead, form.least_ahead_db) << form.name;
    RecordProperty(form.name, correct);
  }
}

constexpr char kOneScale[] =
    "per_tensor: 'conv2d' per_tensor: 'depthwise_conv2d' "
    "per_tensor: 'fully_connected'";

constexpr char kShift[] =
    "per_tensor: 'conv2d' per_tensor: 'depthwise_conv2d' "
    "per_tensor: 'fully_connected' symmetric_activations: true "
    "power_of_two_scales: true rounding: FLOOR";
constexpr char kInt4[] = "scheme { weights: INT4 }";

// int8 as most chips take it, one weight scale, shifts that round down, int4
// weights: of those, also what scales by the weights' own errors alone would
// be.
std::vector<Form> Forms(double usual, double ahead, double shift, double int4) {
  return {{"int8", "", "", usual, ahead},
          {"one_weight_scale", kOneScale, "", usual, ahead - 1},
          {"shift", kShift, "", shift, 1},
          {"int4", "", kInt4, int4, -3}};
}

// What int16 activations leave is what weights lose.
std::vector<Form> WithInt16(std::vector<Form> forms) {
  forms.push_back({"int16", "", "activations: ACTIVATIONS_INT16", 0.001, 0.5});
  return forms;
}

const ModelCase kModels[] = {
    {"mnist_cnn", "models/mnist_cnn_fp32.onnx", "data/mnist_2k.npz",
     "data/mnist_2k.npz", 1, 0, 200, 1968, Forms(0.002, 0.3, 0.01, 0.01)},
    {"lenet", "models/lenet_fp32.onnx", "data/mnist_2k.npz",
     "data/mnist_2k.npz", 1 / (255 * 0.3081), -0.1307 / 0.3081, 200, 1949,
     Forms(0.003, 0, 0.01, 0.01)},
    {"mnist_mlp", "models/mnist_mlp_fp32.onnx", "data/mnist_2k.npz",
     "data/mnist_2k.npz", 1 / (255 * 0.3081), -0.1307 / 0.3081, 200, 1807,
     Forms(0.002, 0.2, 0.01, 0.01)},
    // Of 100 samples one is a whole percentage point, and ratios of noise are
    // those of few pictures: 4 to 7 dB.
    {"resnet8", "models/resnet8_fp32.onnx", "data/cifar10_calib_487.npz",
     "data/cifar10_ic_100.npz", 1, 0, 200, 85, Forms(0.02, 2, 0.02, 0.04)},
    {"resnet8_tflite", "models/resnet8_fp32.tflite",
     "data/cifar10_calib_487.npz", "data/cifar10_ic_100.npz", 1, 0, 200, 85,
     Forms(0.02, 2, 0.02, 0.04)},
    {"dscnn", "models/dscnn_fp32.onnx", "data/kws_500.npz", "data/kws_500.npz",
     1, 0, 200, 458, Forms(0.0067, 5, 0.015, 0.04)},
    {"digits", "docs/example/digits.onnx",
     "docs/example/digits_calibration.npz", "docs/example/digits_test.npz", 1,
     0, 200, -1, WithInt16(Forms(0.005, 0, 0.01, 0.02))},
};

INSTANTIATE_TEST_SUITE_P(All, QuantizeModelsTest, testing::ValuesIn(kModels),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
