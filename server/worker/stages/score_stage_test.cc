#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {
namespace {

using testing::ElementsAre;

// Samples of two values each, from `first` on; a row of `values` per array.
std::string Chunk(int64_t first,
                  const std::vector<std::vector<float>>& values) {
  v1::Chunk chunk;
  chunk.set_first_sample(first);
  for (const std::vector<float>& array : values) {
    v1::Chunk::Array& out = *chunk.add_arrays();
    out.mutable_type()->set_element_type(v1::FLOAT32);
    out.mutable_type()->add_shape(1);
    out.mutable_type()->add_shape(2);
    out.set_data(std::string(reinterpret_cast<const char*>(array.data()),
                             array.size() * sizeof(float)));
    chunk.set_samples(static_cast<int64_t>(array.size()) / 2);
  }
  return chunk.SerializeAsString();
}

// What the stage finds; the text of the error in its warnings.
StageOutput Score(v1::ScoreOptions::Measure measure, const std::string& outputs,
                  const std::vector<std::string>& references,
                  bool first_only = false, const std::string& labels = "") {
  StageInputs inputs;
  inputs.Add("outputs", outputs);
  for (const std::string& one : references) inputs.Add("reference", one);
  if (!labels.empty()) inputs.Add("labels", labels);
  v1::ScoreOptions options;
  options.set_measure(measure);
  options.set_first_only(first_only);
  auto output = RunScore(options, inputs);
  if (output.ok()) return *std::move(output);
  StageOutput failed;
  failed.warnings.push_back(output.status().ToString());
  return failed;
}

TEST(ScoreStageTest, MeasuresEverySampleOverAllOutputs) {
  const std::string chip = Chunk(0, {{1, 2, 3, 4}, {0, 0, 0, 2}});
  const std::string reference = Chunk(0, {{1, 0, 3, 4}, {0, 0, 1, 0}});
  const auto scores = [&](v1::ScoreOptions::Measure measure, bool first_only) {
    const StageOutput output = Score(measure, chip, {reference}, first_only);
    EXPECT_EQ(output.summary.samples().samples(), 2);
    EXPECT_TRUE(output.blobs.empty());
    const auto& found = output.summary.samples().score();
    return std::vector<double>(found.begin(), found.end());
  };
  EXPECT_THAT(scores(v1::ScoreOptions::SQUARED_ERROR, false),
              ElementsAre(4 / 4.0, 5 / 4.0));
  EXPECT_THAT(scores(v1::ScoreOptions::ABSOLUTE_ERROR, false),
              ElementsAre(2 / 4.0, 3 / 4.0));
  EXPECT_THAT(scores(v1::ScoreOptions::SQUARED_ERROR, true),
              ElementsAre(4 / 2.0, 0));
  const std::vector<double> cosines = scores(v1::ScoreOptions::COSINE, false);
  EXPECT_DOUBLE_EQ(cosines[0], 1 / std::sqrt(5));
  EXPECT_DOUBLE_EQ(cosines[1], 25 / std::sqrt(29.0 * 26.0));
}

// Chunks of another element type may be cut elsewhere: same scores.
TEST(ScoreStageTest, BordersOfChunksDoNotMatter) {
  const std::vector<float> chip = {1, 2, 3, 5, 8, 13};
  const std::string whole = Chunk(7, {{0, 1, 0, 1, 0, 1}});
  const std::vector<std::string> cut = {
      Chunk(0, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 1}}),
      Chunk(8, {{0, 1, 0, 1, 9, 9}})};
  const auto one =
      Score(v1::ScoreOptions::SQUARED_ERROR, Chunk(7, {chip}), {whole});
  const auto two =
      Score(v1::ScoreOptions::SQUARED_ERROR, Chunk(7, {chip}), cut);
  EXPECT_EQ(one.summary.samples().score_size(), 3);
  EXPECT_EQ(one.summary.ShortDebugString(), two.summary.ShortDebugString());
}

TEST(ScoreStageTest, CosineOfNothingIsThatOfEquals) {
  const std::string zero = Chunk(0, {{0, 0}});
  EXPECT_THAT(
      Score(v1::ScoreOptions::COSINE, zero, {zero}).summary.samples().score(),
      ElementsAre(1));
  EXPECT_THAT(Score(v1::ScoreOptions::COSINE, zero, {Chunk(0, {{1, 0}})})
                  .summary.samples()
                  .score(),
              ElementsAre(0));
}

TEST(ScoreStageTest, PassesTheLabelsOfItsSamplesOn) {
  v1::Labels labels;
  for (const int32_t label : {1, 0, -1, 1}) labels.add_label(label);
  const std::string chunk = Chunk(1, {{0, 0, 0, 0}});
  const StageOutput output = Score(v1::ScoreOptions::SQUARED_ERROR, chunk,
                                   {chunk}, true, labels.SerializeAsString());
  EXPECT_THAT(output.summary.samples().label(), ElementsAre(0, -1));
}

TEST(ScoreStageTest, WhatIsNoNumberIsTheUsersError) {
  const std::string good = Chunk(5, {{0, 0}});
  for (const float bad :
       {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const std::string chunk = Chunk(5, {{bad, 0}});
    for (const auto& [a, b] :
         {std::pair(good, chunk), std::pair(chunk, good)}) {
      StageInputs inputs;
      inputs.Add("outputs", a);
      inputs.Add("reference", b);
      v1::ScoreOptions options;
      options.set_measure(v1::ScoreOptions::ABSOLUTE_ERROR);
      const auto detail = GetErrorDetail(RunScore(options, inputs).status());
      ASSERT_TRUE(detail.has_value());
      EXPECT_EQ(detail->fault, Fault::kUser);
      EXPECT_EQ(detail->where, "sample 5");
    }
  }
}

TEST(ScoreStageTest, WhatDoesNotBelongTogetherIsABug) {
  const std::string one = Chunk(0, {{0, 0}});
  const std::string two = Chunk(0, {{0, 0}, {0, 0}});
  constexpr auto kMeasure = v1::ScoreOptions::SQUARED_ERROR;
  v1::Chunk wide;
  ASSERT_TRUE(wide.ParseFromString(one));
  wide.mutable_arrays(0)->mutable_type()->set_shape(1, 3);
  wide.mutable_arrays(0)->mutable_data()->append(4, '\0');
  v1::Chunk negative = wide;
  negative.set_first_sample(-1);
  const struct {
    const char* name;
    StageOutput output;
  } kCases[] = {
      {"nothing", Score(kMeasure, one, {})},
      {"another sample", Score(kMeasure, one, {Chunk(1, {{0, 0}})})},
      {"another number of outputs", Score(kMeasure, one, {two})},
      {"another size", Score(kMeasure, one, {wide.SerializeAsString()})},
      {"no range", Score(kMeasure, negative.SerializeAsString(), {one})},
      {"no measure", Score(v1::ScoreOptions::MEASURE_UNSPECIFIED, one, {one})},
      {"noise", Score(kMeasure, "\xff\xfe", {one})},
  };
  for (const auto& row : kCases) {
    ASSERT_EQ(row.output.warnings.size(), 1u) << row.name;
    EXPECT_TRUE(absl::StartsWith(row.output.warnings[0], "INTERNAL"))
        << row.name << ": " << row.output.warnings[0];
  }
}

}  // namespace
}  // namespace edgekiln::server
