// A keyword network without labelled data: how often its integers agree with
// its floats.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "compiler/dataset/convert.h"
#include "compiler/frontend/import.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/pipeline.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"
#include "gtest/gtest.h"
#include "tests/quantize/keyword_maps.h"
#include "tests/support/npz_writer.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr char kModel[] = "models/microkws_fp32.onnx";
constexpr char kWords[] = "data/kws_500.npz";
constexpr char kRecordings[] = "models/golden/microkws_fp32.npz";

NpyArray Rows(const NpyArray& maps, int64_t first, int64_t count) {
  NpyArray rows = maps;
  const size_t bytes = maps.data.size() / static_cast<size_t>(maps.shape[0]);
  rows.shape[0] = count;
  rows.data = maps.data.substr(first * bytes, count * bytes);
  return rows;
}

compiler::ConvertedData DataOf(const compiler::Graph& graph,
                               const NpyArray& maps) {
  v1::ConvertDataOptions options;
  options.set_chunk_samples(100);
  auto data = compiler::ConvertDataSet(
      options, {NpzBytes({{"x", maps}})},
      compiler::InputsOf(compiler::GraphToProto(graph)));
  EXPECT_TRUE(data.ok()) << data.status();
  return data.ok() ? *std::move(data) : compiler::ConvertedData();
}

std::vector<int64_t> ClassesOf(const compiler::Graph& graph,
                               const compiler::ConvertedData& data) {
  std::vector<int64_t> classes;
  const auto interpreter = compiler::Interpreter::Create(graph);
  EXPECT_TRUE(interpreter.ok()) << interpreter.status();
  if (!interpreter.ok()) return classes;
  for (const v1::Chunk& chunk : data.chunks) {
    const absl::string_view bytes = chunk.arrays(0).data();
    const size_t one = bytes.size() / static_cast<size_t>(chunk.samples());
    for (int64_t i = 0; i < chunk.samples(); ++i) {
      EXPECT_TRUE((*interpreter)->Run({bytes.substr(i * one, one)}).ok());
      const absl::string_view out = (*interpreter)->value(graph.outputs[0]);
      std::vector<float> scores(out.size() / sizeof(float));
      std::memcpy(scores.data(), out.data(), out.size());
      classes.push_back(std::max_element(scores.begin(), scores.end()) -
                        scores.begin());
    }
  }
  return classes;
}

struct Agreement {
  int samples = 0;
  int agree = 0;
  size_t classes = 0;  // That the floats give.
};

void Measure(const NpyArray& calibration, const NpyArray& measured,
             Agreement& result) {
  auto graph = compiler::ImportModel(ReadWholeFile(SharedPath(kModel)));
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_TRUE(compiler::Simplify(*graph).ok());
  const auto samples = DataOf(*graph, calibration);
  const auto data = DataOf(*graph, measured);
  const auto statistics = compiler::Calibrate(*graph, samples.chunks);
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  const auto network = compiler::Quantize(
      *graph, {}, {.statistics = *statistics, .samples = samples.chunks});
  ASSERT_TRUE(network.ok()) << network.status();
  const std::vector<int64_t> real = ClassesOf(*graph, data);
  const std::vector<int64_t> ours = ClassesOf(network->graph, data);
  ASSERT_EQ(ours.size(), real.size());
  for (size_t i = 0; i < real.size(); ++i) {
    ++result.samples;
    result.agree += real[i] == ours[i] ? 1 : 0;
  }
  result.classes = std::set<int64_t>(real.begin(), real.end()).size();
  testing::Test::RecordProperty("agree", result.agree);
}

// Of the same kind as those it was trained on.
TEST(KeywordsTest, MicroKwsAgreesWithItsFloatsOnItsRecordings) {
  EK_REQUIRE_SHARED(kModel);
  EK_REQUIRE_SHARED(kRecordings);
  const auto golden = ReadNpz(SharedPath(kRecordings));
  ASSERT_TRUE(golden.ok()) << golden.status();
  std::vector<NpyArray> recorded;
  // The fourth is random.
  for (const char* input : {"input_0", "input_1", "input_2"}) {
    for (const auto& [name, array] : *golden) {
      if (absl::StartsWith(name, input)) recorded.push_back(array);
    }
  }
  ASSERT_EQ(recorded.size(), 3u);
  Agreement result;
  Measure(AugmentedMaps(recorded, 66, 1), AugmentedMaps(recorded, 100, 2),
          result);
  EXPECT_EQ(result.samples, 300);
  EXPECT_GE(result.classes, 3u);
  EXPECT_GE(result.agree, 297);  // 99 %.
}

// Of another kind: the floats are less sure, so that integers move more.
TEST(KeywordsTest, MicroKwsAgreesWithItsFloatsOnOtherWords) {
  EK_REQUIRE_SHARED(kModel);
  EK_REQUIRE_SHARED(kWords);
  const auto kws = ReadNpz(SharedPath(kWords));
  ASSERT_TRUE(kws.ok()) << kws.status();
  const NpyArray maps = KeywordMaps(*kws);
  Agreement result;
  Measure(Rows(maps, 0, 200), Rows(maps, 200, 300), result);
  EXPECT_EQ(result.samples, 300);
  EXPECT_GE(result.classes, 8u);
  EXPECT_GE(result.agree, 282);  // 94 %.
}

}  // namespace
}  // namespace edgekiln::tests
