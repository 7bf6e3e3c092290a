// Published networks and our own example: the share of samples that the int8
// form classifies correctly, next to that of the float form.

#include <algorithm>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "compiler/dataset/convert.h"
#include "compiler/frontend/onnx/onnx_import.h"
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

// What a target needs, and the share of samples that its form may lose, net.
struct Form {
  const char* name;
  const char* needs;  // QuantizationNeeds.
  double most_lost;
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

// Correctly classified samples from number `first` on.
int Correct(const Graph& graph, const ConvertedData& data, int64_t first) {
  const auto interpreter = Interpreter::Create(graph);
  if (!interpreter.ok()) {
    ADD_FAILURE() << interpreter.status();
    return -1;
  }
  int correct = 0;
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
        return -1;
      }
      const absl::string_view out = (*interpreter)->value(graph.outputs[0]);
      std::vector<float> scores(out.size() / sizeof(float));
      std::memcpy(scores.data(), out.data(), out.size());
      const auto best = std::max_element(scores.begin(), scores.end());
      const int label =
          data.labels->label(static_cast<int>(chunk.first_sample() + i));
      correct += best - scores.begin() == label ? 1 : 0;
    }
  }
  return correct;
}

class QuantizeModelsTest : public testing::TestWithParam<ModelCase> {};

void PrintTo(const ModelCase& row, std::ostream* out) { *out << row.name; }

TEST_P(QuantizeModelsTest, KeepsTheAccuracy) {
  const ModelCase& model = GetParam();
  for (const std::string& path : {model.model, model.calibration, model.data}) {
    if (!IsOurs(path)) EK_REQUIRE_SHARED(path);
  }
  absl::StatusOr<Graph> graph = ImportOnnx(Read(model.model));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::Status simplified = Simplify(*graph);
  ASSERT_TRUE(simplified.ok()) << simplified;
  const auto calibration =
      Load(*graph, model.calibration, model, model.calibration_samples);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  v1::CalibrateOptions options;
  options.set_method(v1::CalibrateOptions::PERCENTILE);
  options.set_percentile_ppm(999'900);
  const auto statistics = Calibrate(*graph, calibration->chunks, options);
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  const auto data = Load(*graph, model.data, model, 0);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_TRUE(data->labels.has_value());
  if (model.float_correct >= 0) {
    EXPECT_EQ(Correct(*graph, *data, 0), model.float_correct);
  }
  // What was calibrated on is no test.
  const int64_t first =
      model.data == model.calibration ? model.calibration_samples : 0;
  const int float_correct = Correct(*graph, *data, first);
  const double samples = static_cast<double>(data->samples - first);
  EXPECT_GT(float_correct, samples * 0.8);
  RecordProperty("float_correct", float_correct);
  for (const Form& form : model.forms) {
    v1::QuantizationNeeds needs;
    ASSERT_TRUE(
        google::protobuf::TextFormat::ParseFromString(form.needs, &needs));
    const absl::StatusOr<Graph> quantized =
        QuantizeGraph(*graph, *statistics, needs);
    ASSERT_TRUE(quantized.ok()) << quantized.status();
    const int int8_correct = Correct(*quantized, *data, first);
    EXPECT_GE(int8_correct, float_correct - form.most_lost * samples)
        << form.name << "; float " << float_correct << " of " << samples;
    RecordProperty(form.name, int8_correct);
  }
}

constexpr char kOneScale[] =
    "per_tensor: 'conv2d' per_tensor: 'depthwise_conv2d' "
    "per_tensor: 'fully_connected'";

// The form for targets without needs, and those of others.
std::vector<Form> Forms(double usual, double one_scale, double symmetric,
                        double powers_of_two) {
  return {{"int8_correct", "", usual},
          {"one_weight_scale", kOneScale, one_scale},
          {"zero_points_0", "symmetric_activations: true", symmetric},
          {"powers_of_two", "power_of_two_scales: true", powers_of_two}};
}

std::vector<Form> UsualForm() { return {{"int8_correct", "", 0.005}}; }

const ModelCase kModels[] = {
    {"mnist_cnn", "models/mnist_cnn_fp32.onnx", "data/mnist_2k.npz",
     "data/mnist_2k.npz", 1, 0, 200, 1968, UsualForm()},
    {"lenet", "models/lenet_fp32.onnx", "data/mnist_2k.npz",
     "data/mnist_2k.npz", 1 / (255 * 0.3081), -0.1307 / 0.3081, 200, 1949,
     UsualForm()},
    {"mnist_mlp", "models/mnist_mlp_fp32.onnx", "data/mnist_2k.npz",
     "data/mnist_2k.npz", 1 / (255 * 0.3081), -0.1307 / 0.3081, 200, 1807,
     UsualForm()},
    // Of 100 samples one is a whole percentage point.
    {"resnet8", "models/resnet8_fp32.onnx", "data/cifar10_calib_487.npz",
     "data/cifar10_ic_100.npz", 1, 0, 200, 85, Forms(0.01, 0.02, 0.02, 0.03)},
    {"dscnn", "models/dscnn_fp32.onnx", "data/kws_500.npz", "data/kws_500.npz",
     1, 0, 100, 458, Forms(0.005, 0.02, 0.02, 0.03)},
    {"digits", "docs/example/digits.onnx",
     "docs/example/digits_calibration.npz", "docs/example/digits_test.npz", 1,
     0, 200, -1, Forms(0.005, 0.01, 0.01, 0.01)},
};

INSTANTIATE_TEST_SUITE_P(All, QuantizeModelsTest, testing::ValuesIn(kModels),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
