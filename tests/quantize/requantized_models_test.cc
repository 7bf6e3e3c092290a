// Published networks that came quantized, on chips that take none of their
// layers as they came: once they are quantized anew, engines multiply, to the
// bit as the reference, and the answers move little.

#include <algorithm>
#include <cstring>
#include <iostream>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "compiler/dataset/convert.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/integer_io.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/output_change.h"
#include "compiler/quantize/quantize.h"
#include "compiler/quantize/requantize_gain.h"
#include "compiler/quantize/unquantize.h"
#include "gtest/gtest.h"
#include "target/builtin.h"
#include "target/quantization_needs.h"
#include "target/resolve.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

constexpr int64_t kCalibrates = 200;
constexpr int64_t kMeasured = 200;  // Behind those, or all.

struct ModelCase {
  const char* name;
  const char* file;
  // Under data/; null: ranges are those that the integers had.
  const char* calibration = nullptr;
  const char* data = nullptr;  // Labelled.
  // Share of samples at most that is answered correctly no more, net, on
  // toy-shift and on toy-int4: without data, and with.
  double shift[2] = {};
  double int4[2] = {};
};

struct NetworkCase {
  const ModelCase* model;
  const char* chip;
};

const ModelCase kModels[] = {
    {"resnet8",
     "resnet8_int8.tflite",
     "cifar10_calib_487.npz",
     "cifar10_ic_100.npz",
     {0.06, 0.03},
     {0.5, 0.05}},
    {"dscnn",
     "dscnn_int8.tflite",
     "kws_500.npz",
     "kws_500.npz",
     {0.03, 0.02},
     {0.5, 0.05}},
    {"dscnn_qdq",
     "dscnn_int8_qdq.onnx",
     "kws_500.npz",
     "kws_500.npz",
     {0.03, 0.02},
     {0.5, 0.05}},
    {"resnet8_qdq",
     "resnet8_int8_qdq.onnx",
     "cifar10_calib_487.npz",
     "cifar10_ic_100.npz",
     {0.06, 0.03},
     {0.5, 0.05}},
    {"ad", "ad_int8.tflite"},
    {"microkws", "microkws_int8_qdq.onnx"},
    {"person_detect", "person_detect_int8.tflite"},
    {"mobilenet_uint8", "mobilenet_v1_0.25_128_uint8.tflite"},
    {"htvm_resnet8", "htvm_resnet8_digital.onnx"},
    {"htvm_dscnn", "htvm_dscnn_digital.onnx"},
};

std::vector<NetworkCase> AllCases() {
  std::vector<NetworkCase> cases;
  for (const ModelCase& model : kModels) {
    for (const char* chip : {"toy-shift", "toy-int4"}) {
      cases.push_back({&model, chip});
    }
  }
  return cases;
}

std::string CaseName(const testing::TestParamInfo<NetworkCase>& info) {
  std::string name = absl::StrCat(info.param.model->name, "_", info.param.chip);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

void PrintTo(const NetworkCase& row, std::ostream* out) {
  *out << row.model->name << " on " << row.chip;
}

// With room for the widest layer.
v1::ResolvedTarget TargetNamed(const std::string& name) {
  const auto resolved = target::ResolveTarget(
      absl::StrCat("extends: \"", name,
                   "\" set { name: \"tile_mem_bytes\" value: 262144 }"));
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved.value_or(v1::ResolvedTarget());
}

int64_t MacsOn(const v1::ResolvedTarget& chip, const Graph& graph) {
  const auto macs = compiler::MacsOnEngines(graph, chip.capabilities());
  EXPECT_TRUE(macs.ok()) << macs.status();
  return macs.ok() ? macs->on_engines : 0;
}

absl::StatusOr<compiler::ConvertedData> Load(const Graph& graph,
                                             const char* file, int64_t limit) {
  v1::ConvertDataOptions options;
  options.set_limit(limit);
  options.set_chunk_samples(100);
  const std::string bytes =
      ReadWholeFile(SharedPath(absl::StrCat("data/", file)));
  return compiler::ConvertDataSet(options, {bytes},
                                  compiler::InputsOf(GraphToProto(graph)));
}

// Answers from sample `first` on, a few hundred.
int Correct(const Graph& graph, const char* file, int64_t first) {
  const auto data = Load(graph, file, first + kMeasured);
  EXPECT_TRUE(data.ok()) << data.status();
  const auto interpreter = compiler::Interpreter::Create(graph);
  EXPECT_TRUE(interpreter.ok()) << interpreter.status();
  if (!data.ok() || !interpreter.ok() || !data->labels) return 0;
  const bool real = graph.tensors[graph.outputs[0]].type == v1::FLOAT32;
  int correct = 0;
  for (const v1::Chunk& chunk : data->chunks) {
    const std::string& bytes = chunk.arrays(0).data();
    const size_t one = bytes.size() / static_cast<size_t>(chunk.samples());
    for (int64_t i = 0; i < chunk.samples(); ++i) {
      if (chunk.first_sample() + i < first) continue;
      const absl::string_view sample =
          absl::string_view(bytes).substr(static_cast<size_t>(i) * one, one);
      EXPECT_TRUE((*interpreter)->Run({sample}).ok());
      const absl::string_view out = (*interpreter)->value(graph.outputs[0]);
      std::vector<float> scores(real ? out.size() / sizeof(float) : out.size());
      if (real) {
        std::memcpy(scores.data(), out.data(), out.size());
      } else {
        for (size_t k = 0; k < out.size(); ++k) {
          scores[k] = static_cast<int8_t>(out[k]);
        }
      }
      const auto best =
          std::max_element(scores.begin(), scores.end()) - scores.begin();
      correct += best == data->labels->label(
                             static_cast<int>(chunk.first_sample() + i))
                     ? 1
                     : 0;
    }
  }
  return correct;
}

std::vector<std::string> Samples(const Graph& graph, int count) {
  Rng rng(5);
  const compiler::Tensor& input = graph.tensors[graph.inputs[0]];
  std::vector<std::string> samples(static_cast<size_t>(count));
  for (std::string& sample : samples) {
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      sample += static_cast<char>(rng.InRange(-128, 127));
    }
  }
  return samples;
}

class RequantizedModelTest : public testing::TestWithParam<NetworkCase> {
 protected:
  // Quantized for the chip, and what engines take of it.
  void ExpectOnEngines(const Graph& quantized, const v1::ResolvedTarget& chip,
                       int64_t before) {
    Graph deployed = quantized;
    compiler::UseIntegerPorts(deployed);
    EXPECT_GT(MacsOn(chip, deployed), before);
    ExpectBitExact(deployed, chip, Samples(deployed, 1));
  }
};

TEST_P(RequantizedModelTest, RunsOnEnginesAndKeepsItsAnswers) {
  const ModelCase& model = *GetParam().model;
  const std::string path = absl::StrCat("models/", model.file);
  EK_REQUIRE_SHARED(path);
  if (model.data != nullptr) {
    EK_REQUIRE_SHARED(absl::StrCat("data/", model.calibration));
    EK_REQUIRE_SHARED(absl::StrCat("data/", model.data));
  }
  const auto graph = SimplifiedGraph(ReadWholeFile(SharedPath(path)));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const v1::ResolvedTarget chip = TargetNamed(GetParam().chip);
  const int64_t before = MacsOn(chip, *graph);
  const auto form = compiler::Unquantize(*graph);
  ASSERT_TRUE(form.ok()) << form.status();
  const auto why =
      compiler::WhyRequantize(*graph, form->graph, chip.capabilities());
  ASSERT_TRUE(why.ok()) << why.status();
  EXPECT_NE(*why, "");
  ASSERT_TRUE(form->ranges.has_value());

  v1::QuantizeOptions options;
  *options.mutable_needs() = target::QuantizationNeedsOf(chip.capabilities());
  const auto blind =
      compiler::Quantize(form->graph, options, {.statistics = *form->ranges});
  ASSERT_TRUE(blind.ok()) << blind.status();
  ExpectOnEngines(blind->graph, chip, before);
  if (model.data == nullptr) return;

  const auto calibration = Load(form->graph, model.calibration, kCalibrates);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  const auto seen = compiler::Calibrate(form->graph, calibration->chunks);
  ASSERT_TRUE(seen.ok()) << seen.status();
  const auto fitted =
      compiler::Quantize(form->graph, options,
                         {.statistics = *seen, .samples = calibration->chunks});
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  ExpectOnEngines(fitted->graph, chip, before);

  const bool same = std::string(model.calibration) == model.data;
  const int64_t first = same ? kCalibrates : 0;
  const int came = Correct(*graph, model.data, first);
  const double samples = same ? kMeasured : 100;
  EXPECT_GT(came, 0.75 * samples);
  const bool shift = std::string(GetParam().chip) == "toy-shift";
  const Graph* const networks[] = {&blind->graph, &fitted->graph};
  for (int i = 0; i < 2; ++i) {
    const int correct = Correct(*networks[i], model.data, first);
    const double most = shift ? model.shift[i] : model.int4[i];
    EXPECT_GE(correct, came - most * samples);
    const auto change =
        compiler::CompareOutputs(*graph, *networks[i], calibration->chunks);
    ASSERT_TRUE(change.ok()) << change.status();
    ASSERT_TRUE(change->has_value());
    std::cout << "  " << (i == 0 ? "its own ranges: " : "calibrated: ")
              << correct << " of " << samples << " correct, as it came " << came
              << "; " << compiler::ToText(**change, "calibration samples")
              << "\n";
  }
}

INSTANTIATE_TEST_SUITE_P(All, RequantizedModelTest,
                         testing::ValuesIn(AllCases()), CaseName);

}  // namespace
}  // namespace edgekiln::tests
