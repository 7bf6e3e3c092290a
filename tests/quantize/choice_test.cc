// Engines and forms of weights that are chosen together, against all
// combinations there are: on data that nothing was fitted to, the budget holds,
// and none that keeps it is much faster.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/choose/choose.h"
#include "compiler/choose/predicted_cycles.h"
#include "compiler/choose/scheme_forms.h"
#include "compiler/dataset/convert.h"
#include "compiler/frontend/import.h"
#include "compiler/ir/graph_outline.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/pipeline.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"
#include "gtest/gtest.h"
#include "target/quantization_needs.h"
#include "target/resolve.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

constexpr char kData[] = "data/mnist_2k.npz";
constexpr int64_t kCalibrates = 200;
constexpr int64_t kMeasures = 1800;
constexpr double kSlower = 1.02;

struct Row {
  const char* name;
  double scale;
  double offset;
  int budget_percent;
};

std::string NameOf(const Row& row) {
  return absl::StrCat(row.name, "_", row.budget_percent);
}

void PrintTo(const Row& row, std::ostream* out) { *out << NameOf(row); }

// Pictures of bytes, less their mean and by their deviation.
constexpr double kScale = 1 / (255 * 0.3081);
constexpr double kOffset = -0.1307 / 0.3081;
constexpr Row kRows[] = {{"mnist_cnn", 1, 0, 1},
                         {"mnist_cnn", 1, 0, 3},
                         {"lenet", kScale, kOffset, 1},
                         {"mnist_mlp", kScale, kOffset, 1}};

absl::StatusOr<Graph> Simplified(const std::string& path) {
  EK_ASSIGN_OR_RETURN(Graph graph,
                      compiler::ImportModel(ReadWholeFile(SharedPath(path))));
  EK_RETURN_IF_ERROR(compiler::Simplify(graph));
  return graph;
}

absl::StatusOr<compiler::ConvertedData> Load(const Graph& graph, const Row& row,
                                             int64_t limit) {
  v1::ConvertDataOptions options;
  options.set_limit(limit);
  options.set_chunk_samples(100);
  v1::InputTransform* transform = options.add_transforms();
  transform->add_scale(row.scale);
  transform->add_offset(row.offset);
  return compiler::ConvertDataSet(options, {ReadWholeFile(SharedPath(kData))},
                                  compiler::InputsOf(GraphToProto(graph)));
}

// The classes of all samples that do not calibrate.
absl::StatusOr<std::vector<int64_t>> Answers(
    const Graph& graph, const compiler::ConvertedData& data) {
  EK_ASSIGN_OR_RETURN(const auto interpreter,
                      compiler::Interpreter::Create(graph));
  std::vector<int64_t> answers;
  for (const v1::Chunk& chunk : data.chunks) {
    const std::string& bytes = chunk.arrays(0).data();
    const size_t one = bytes.size() / static_cast<size_t>(chunk.samples());
    for (int64_t i = 0; i < chunk.samples(); ++i) {
      if (chunk.first_sample() + i < kCalibrates) continue;
      EK_RETURN_IF_ERROR(interpreter->Run({absl::string_view(bytes).substr(
          static_cast<size_t>(i) * one, one)}));
      const absl::string_view out = interpreter->value(graph.outputs[0]);
      std::vector<float> scores(out.size() / sizeof(float));
      std::memcpy(scores.data(), out.data(), out.size());
      answers.push_back(std::max_element(scores.begin(), scores.end()) -
                        scores.begin());
    }
  }
  return answers;
}

int64_t Differing(const std::vector<int64_t>& a,
                  const std::vector<int64_t>& b) {
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
  return count;
}

std::vector<compiler::Assignment> AllOf(
    const std::vector<compiler::LayerForms>& layers) {
  std::vector<compiler::Assignment> all = {{}};
  for (const compiler::LayerForms& layer : layers) {
    std::vector<compiler::Assignment> longer;
    for (const compiler::Assignment& some : all) {
      for (int32_t form = 0; form < std::ssize(layer.weights); ++form) {
        longer.push_back(some);
        longer.back().push_back(form);
      }
    }
    all = std::move(longer);
  }
  return all;
}

class ChoiceTest : public testing::TestWithParam<Row> {};

TEST_P(ChoiceTest, KeepsTheBudgetAndIsAmongTheFastest) {
  const Row& row = GetParam();
  // Samples that may be answered otherwise.
  const int64_t budget = kMeasures * row.budget_percent / 100;
  const std::string path = absl::StrCat("models/", row.name, "_fp32.onnx");
  EK_REQUIRE_SHARED(path);
  EK_REQUIRE_SHARED(kData);
  const auto graph = Simplified(path);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto calibration = Load(*graph, row, kCalibrates);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  const auto data = Load(*graph, row, 0);
  ASSERT_TRUE(data.ok()) << data.status();
  const auto statistics = compiler::Calibrate(*graph, calibration->chunks);
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  const auto target = target::ResolveTarget("extends: \"toy-mixed\"");
  ASSERT_TRUE(target.ok()) << target.status();
  const v1::QuantizationNeeds needs =
      target::QuantizationNeedsOf(target->capabilities());
  const compiler::ChosenChip chip = {.capabilities = target->capabilities(),
                                     .machine = target->machine()};
  const compiler::QuantizeInputs inputs = {.statistics = *statistics,
                                           .samples = calibration->chunks};
  v1::QuantizationConfig asked;
  asked.set_accuracy_budget_ppm(row.budget_percent * 10'000);
  const auto chosen =
      compiler::ChooseSchemes(*graph, needs, asked, chip, inputs);
  ASSERT_TRUE(chosen.ok()) << chosen.status();

  const auto real = Answers(*graph, *data);
  ASSERT_TRUE(real.ok()) << real.status();
  ASSERT_EQ(std::ssize(*real), kMeasures);
  ASSERT_TRUE(data->labels.has_value());
  std::vector<int64_t> right;
  for (int64_t i = 0; i < kMeasures; ++i) {
    right.push_back(data->labels->label(static_cast<int>(kCalibrates + i)));
  }
  const auto answers_of = [&](const v1::QuantizationConfig& config)
      -> absl::StatusOr<std::vector<int64_t>> {
    v1::QuantizeOptions options;
    *options.mutable_needs() = needs;
    *options.mutable_config() = config;
    EK_ASSIGN_OR_RETURN(const compiler::QuantizedNetwork network,
                        compiler::Quantize(*graph, options, inputs));
    return Answers(network.graph, *data);
  };
  const auto ours = answers_of(chosen->config);
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_LE(Differing(*ours, right), Differing(*real, right) + budget);

  const auto layers = compiler::FormsOf(*graph, asked, needs);
  ASSERT_TRUE(layers.ok()) << layers.status();
  const auto outline = compiler::GraphFromOutline(compiler::OutlineOf(*graph));
  ASSERT_TRUE(outline.ok()) << outline.status();
  std::vector<std::pair<int64_t, compiler::Assignment>> by_cycles;
  for (compiler::Assignment& assignment : AllOf(*layers)) {
    const auto network = compiler::PredictNetwork(
        *outline, needs,
        compiler::ConfigFor(*graph, asked, *layers, assignment), chip);
    ASSERT_TRUE(network.ok()) << network.status();
    by_cycles.emplace_back(network->cycles, std::move(assignment));
  }
  std::sort(by_cycles.begin(), by_cycles.end());
  for (const auto& [cycles, assignment] : by_cycles) {
    // All that are so much faster exceed the budget.
    if (kSlower * static_cast<double>(cycles) >=
        static_cast<double>(chosen->choice.predicted_cycles())) {
      break;
    }
    const auto answers =
        answers_of(compiler::ConfigFor(*graph, asked, *layers, assignment));
    ASSERT_TRUE(answers.ok()) << answers.status();
    ASSERT_GT(Differing(*answers, *real), budget)
        << cycles << " cycles, chosen were "
        << chosen->choice.predicted_cycles() << "\n"
        << compiler::ConfigFor(*graph, asked, *layers, assignment)
               .DebugString();
  }
}

INSTANTIATE_TEST_SUITE_P(All, ChoiceTest, testing::ValuesIn(kRows),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace edgekiln::tests
