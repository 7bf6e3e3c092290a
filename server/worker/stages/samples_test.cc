// Samples in, scores and comparisons out.

#include "server/worker/stages/samples.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"
#include "server/worker/stages/compare.h"

namespace edgekiln::server {
namespace {

v1::TensorType Type(v1::ElementType element, std::vector<int64_t> shape) {
  v1::TensorType type;
  type.set_name("t");
  type.set_element_type(element);
  for (const int64_t extent : shape) type.add_shape(extent);
  return type;
}

v1::Chunk Chunk(const v1::TensorType& type, const std::string& data,
                int64_t samples, int64_t first) {
  v1::Chunk chunk;
  chunk.set_samples(samples);
  chunk.set_first_sample(first);
  *chunk.add_arrays()->mutable_type() = type;
  chunk.mutable_arrays(0)->set_data(data);
  return chunk;
}

TEST(ChunkReaderTest, CutsSamples) {
  const v1::TensorType type = Type(v1::INT8, {1, 2});
  const std::string bytes = Chunk(type, "abcdef", 3, 7).SerializeAsString();
  StageInputs inputs;
  inputs.Add("chunk", bytes);
  const auto reader = ChunkReader::Create(inputs, {type});
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->first_sample(), 7);
  EXPECT_EQ(reader->Sample(2)[0], "ef");
}

TEST(ChunkReaderTest, RefusesOtherInputs) {
  const v1::TensorType type = Type(v1::INT8, {1, 2});
  const std::string bytes = Chunk(type, "abcde", 3, 0).SerializeAsString();
  StageInputs inputs;
  inputs.Add("chunk", bytes);
  EXPECT_FALSE(ChunkReader::Create(inputs, {type}).ok()) << "cut";
  EXPECT_FALSE(ChunkReader::Create(inputs, {}).ok()) << "another count";
  EXPECT_FALSE(ChunkReader::Create(inputs, {Type(v1::UINT8, {1, 2})}).ok());
  EXPECT_FALSE(ChunkReader::Create(StageInputs(), {type}).ok()) << "none";
}

struct AccuracyCase {
  std::string name;
  std::vector<int32_t> labels;
  std::vector<int64_t> input = {1, 4};
  std::vector<int64_t> output = {1, 3};
  int64_t labelled = 0;
  int64_t correct = 0;
  bool error = false;
};

class AccuracyTest : public testing::TestWithParam<AccuracyCase> {};

TEST_P(AccuracyTest, Counts) {
  const AccuracyCase& c = GetParam();
  const v1::TensorType in = Type(v1::INT8, c.input);
  int64_t size = 1;
  for (const int64_t extent : c.input) size *= extent;
  const std::string chunk_bytes =
      Chunk(in, std::string(static_cast<size_t>(2 * size), 'x'), 2, 1)
          .SerializeAsString();
  v1::Labels labels;
  for (const int32_t label : c.labels) labels.add_label(label);
  const std::string label_bytes = labels.SerializeAsString();
  StageInputs inputs;
  inputs.Add("chunk", chunk_bytes);
  if (!c.labels.empty()) inputs.Add("labels", label_bytes);
  const auto chunk = ChunkReader::Create(inputs, {in});
  ASSERT_TRUE(chunk.ok()) << chunk.status();
  auto counter =
      AccuracyCounter::Create(inputs, {in}, {Type(v1::INT8, c.output)}, *chunk);
  ASSERT_EQ(counter.ok(), !c.error) << counter.status();
  if (c.error) return;
  counter->Count(0, "\x01\x05\x05");  // 1: the first of two maxima.
  counter->Count(1, "\xff\xfe\xfd");  // 0: int8 is signed.
  v1::StageSummary::Samples summary;
  counter->AddTo(summary);
  EXPECT_EQ(summary.labelled(), c.labelled);
  EXPECT_EQ(summary.correct(), c.correct);
  EXPECT_EQ(summary.correct_top5(), 0);
  // Samples have a best class whether they are labelled or not.
  const std::vector<int32_t> predicted(summary.predicted().begin(),
                                       summary.predicted().end());
  EXPECT_EQ(predicted, summary.classes() > 0 ? std::vector<int32_t>({1, 0})
                                             : std::vector<int32_t>());
  EXPECT_EQ(summary.label_size(), 0);
  counter->AddLabelsTo(summary);
  const bool counted = summary.classes() > 0 && !c.labels.empty();
  EXPECT_EQ(
      std::vector<int32_t>(summary.label().begin(), summary.label().end()),
      counted ? std::vector<int32_t>(c.labels.begin() + 1, c.labels.end())
              : std::vector<int32_t>());
}

// The chunk begins at sample 1: the first label is not its own.
INSTANTIATE_TEST_SUITE_P(
    All, AccuracyTest,
    testing::Values(
        AccuracyCase{.name = "BothRight",
                     .labels = {9, 1, 0},
                     .labelled = 2,
                     .correct = 2},
        AccuracyCase{.name = "TieCountsForTheFirst",
                     .labels = {0, 2, 0},
                     .labelled = 2,
                     .correct = 1},
        AccuracyCase{
            .name = "NoLabelOnOne", .labels = {0, -1, 1}, .labelled = 1},
        AccuracyCase{.name = "NoLabels", .labels = {}},
        AccuracyCase{.name = "TooFewLabels", .labels = {0, 1}, .error = true},
        AccuracyCase{
            .name = "LabelBeyondClasses", .labels = {0, 3, 0}, .error = true},
        AccuracyCase{.name = "ReconstructionIsNoClass",
                     .labels = {0, 1, 0},
                     .input = {1, 3}},
        AccuracyCase{.name = "PictureIsNoClass",
                     .labels = {0, 1, 0},
                     .output = {1, 3, 2}},
        AccuracyCase{.name = "UnitExtentsDoNotMatter",
                     .labels = {0, 1, 0},
                     .output = {1, 1, 1, 3},
                     .labelled = 2,
                     .correct = 2}),
    [](const auto& info) { return info.param.name; });

// A detector's scores of places are no classes, unless labels say so.
TEST(AccuracyTest, OneOfSeveralOutputsNeedsLabels) {
  const v1::TensorType in = Type(v1::INT8, {1, 1});
  const v1::TensorType scores = Type(v1::INT8, {1, 3});
  const std::string chunk_bytes = Chunk(in, "x", 1, 0).SerializeAsString();
  v1::Labels labels;
  labels.add_label(1);
  const std::string label_bytes = labels.SerializeAsString();
  for (const size_t outputs : {size_t{1}, size_t{2}}) {
    for (const bool labelled : {false, true}) {
      StageInputs inputs;
      inputs.Add("chunk", chunk_bytes);
      if (labelled) inputs.Add("labels", label_bytes);
      const auto chunk = ChunkReader::Create(inputs, {in});
      auto counter = AccuracyCounter::Create(
          inputs, {in}, std::vector<v1::TensorType>(outputs, scores), *chunk);
      ASSERT_TRUE(counter.ok()) << counter.status();
      counter->Count(0, "\x01\x05\x03");
      v1::StageSummary::Samples summary;
      counter->AddTo(summary);
      const bool counted = outputs == 1 || labelled;
      EXPECT_EQ(summary.classes(), counted ? 3 : 0) << outputs;
      EXPECT_EQ(summary.predicted_size(), counted ? 1 : 0) << outputs;
    }
  }
}

TEST(ChunkReaderTest, TakesSamplesWithoutBytesOrInputs) {
  v1::Chunk chunk = Chunk(Type(v1::FLOAT32, {1, 0, 3}), "", 2, 0);
  const std::string empty = chunk.SerializeAsString();
  chunk.clear_arrays();
  const std::string none = chunk.SerializeAsString();
  StageInputs inputs;
  inputs.Add("chunk", empty);
  const auto reader =
      ChunkReader::Create(inputs, {Type(v1::FLOAT32, {1, 0, 3})});
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->Sample(1)[0], "");
  StageInputs no_inputs;
  no_inputs.Add("chunk", none);
  const auto nothing = ChunkReader::Create(no_inputs, {});
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_EQ(nothing->samples(), 2);
  EXPECT_TRUE(nothing->Sample(1).empty());
}

// What the counter finds for one sample per label; `scores` are used again from
// their start on where they end. An error becomes the only warning.
v1::StageSummary::Samples Counted(const std::vector<int32_t>& labels,
                                  int64_t classes,
                                  const std::vector<float>& scores,
                                  std::vector<std::string>* warnings) {
  const v1::TensorType in = Type(v1::INT8, {1, 1});
  const auto samples = static_cast<int64_t>(labels.size());
  const std::string chunk_bytes =
      Chunk(in, std::string(labels.size(), 'x'), samples, 0)
          .SerializeAsString();
  v1::Labels all;
  for (const int32_t label : labels) all.add_label(label);
  const std::string label_bytes = all.SerializeAsString();
  StageInputs inputs;
  inputs.Add("chunk", chunk_bytes);
  inputs.Add("labels", label_bytes);
  const auto chunk = ChunkReader::Create(inputs, {in});
  auto counter = AccuracyCounter::Create(
      inputs, {in}, {Type(v1::FLOAT32, {1, classes})}, *chunk);
  v1::StageSummary::Samples summary;
  if (!counter.ok()) {
    *warnings = {std::string(counter.status().message())};
    return summary;
  }
  const auto per_sample = static_cast<size_t>(classes);
  for (int64_t s = 0; s < samples; ++s) {
    const size_t at = static_cast<size_t>(s) * per_sample % scores.size();
    counter->Count(s,
                   absl::string_view(reinterpret_cast<const char*>(&scores[at]),
                                     per_sample * sizeof(float)));
  }
  counter->AddTo(summary);
  *warnings = counter->Warnings();
  return summary;
}

TEST(AccuracyTest, TheFiveLargestCountTiesForTheFirst) {
  const float nan = std::nanf("");
  const std::vector<float> scores = {9, 8, 7, 7, 7, 7, 1, nan, 0, 0, 0, 0};
  const std::vector<float> nothing(12, nan);
  const struct {
    std::string name;
    std::vector<int32_t> labels;
    std::vector<float> scores;
    int64_t top1;
    int64_t top5;
  } cases[] = {
      {"the best five", {0, 1, 2, 3, 4}, scores, 1, 5},
      {"the sixth is as large as the fifth", {5}, scores, 0, 0},
      {"NaN is no large score", {7}, scores, 0, 0},
      {"NaN first", {0, 1}, {nan, 3, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0}, 1, 1},
      {"nothing but NaN: the first ones", {0, 4, 5}, nothing, 1, 2},
      {"without labels", {-1, -1}, scores, 0, 0},
  };
  for (const auto& c : cases) {
    std::vector<std::string> warnings;
    const auto summary = Counted(c.labels, 12, c.scores, &warnings);
    EXPECT_EQ(summary.correct(), c.top1) << c.name;
    EXPECT_EQ(summary.correct_top5(), c.top5) << c.name;
    EXPECT_EQ(summary.classes(), 12) << c.name;
  }
}

// Scores of one sample per entry, of which that class is the best.
std::vector<float> Best(const std::vector<size_t>& best, size_t classes) {
  std::vector<float> scores(best.size() * classes, 0);
  for (size_t s = 0; s < best.size(); ++s) scores[s * classes + best[s]] = 1;
  return scores;
}

TEST(AccuracyTest, NoticesLabelsThatAreNumberedOtherwise) {
  const struct {
    std::string name;
    std::vector<int32_t> labels;
    std::vector<size_t> best;
    size_t classes;
    std::string want;  // Part of the only warning; "": none.
  } cases[] = {
      {"background class",
       {0, 3, 5, 9},
       {1, 4, 6, 2},
       12,
       "one larger: raise --label-offset by 1 (to 1 if it was not given)"},
      {"counted from 1",
       {1, 3, 5, 9},
       {0, 2, 4, 8},
       12,
       "one smaller: lower --label-offset by 1 (to -1 if it was not given)"},
      {"right", {0, 3, 5, 9}, {0, 3, 5, 9}, 12, ""},
      {"bad at one class", {3, 3, 3, 3}, {4, 4, 4, 4}, 12, ""},
      {"few classes", {0, 1, 0, 1}, {1, 2, 1, 2}, 3, ""},
      {"half of them right", {0, 3, 5, 9}, {0, 3, 6, 10}, 12, ""},
  };
  for (const auto& c : cases) {
    std::vector<std::string> warnings;
    Counted(c.labels, static_cast<int64_t>(c.classes), Best(c.best, c.classes),
            &warnings);
    ASSERT_EQ(warnings.size(), c.want.empty() ? 0u : 1u) << c.name;
    if (c.want.empty()) continue;
    EXPECT_NE(warnings[0].find(c.want), std::string::npos) << warnings[0];
  }
}

TEST(AccuracyTest, ALabelTooLargeNamesTheOffsetThatFits) {
  const struct {
    std::vector<int32_t> labels;
    std::string want;
  } cases[] = {
      {{1, 12, -1}, "one less: lower --label-offset by 1"},
      {{1, 14}, "use the data set of this network's task"},
      {{0, 12}, "use the data set of this network's task"},
  };
  for (const auto& c : cases) {
    std::vector<std::string> messages;
    Counted(c.labels, 12, std::vector<float>(12, 0), &messages);
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_NE(messages[0].find(c.want), std::string::npos) << messages[0];
  }
}

TEST(ComparisonTest, FindsEveryDifferenceAndNamesTheFirst) {
  compiler::Tensor tensor;
  tensor.name = "y";
  tensor.type = v1::INT8;
  tensor.shape = {1, 2, 2, 3};
  const std::string want = "abcdefghijkl";
  v1::Box box;
  for (const int64_t begin : {0, 1, 0, 1}) box.add_begin(begin);
  for (const int64_t end : {1, 2, 2, 3}) box.add_end(end);
  Comparison comparison;
  ASSERT_TRUE(comparison.Add(tensor, want, box, "hikl", "conv", 3).ok());
  EXPECT_EQ(comparison.compared(), 4);
  EXPECT_EQ(comparison.mismatches(), 0);
  ASSERT_TRUE(comparison.Add(tensor, want, box, "hiXY", "conv", 4).ok());
  EXPECT_EQ(comparison.compared(), 8);
  EXPECT_EQ(comparison.mismatches(), 2);
  EXPECT_EQ(comparison.first_mismatch(),
            "layer conv, sample 4, tensor 'y' at [0, 1, 1, 1]: got 88, "
            "want 107");
  EXPECT_FALSE(comparison.Add(tensor, want, box, "hik", "conv", 5).ok());
  box.set_end(1, 3);
  EXPECT_FALSE(comparison.Add(tensor, want, box, "hikl", "conv", 5).ok());
}

TEST(ComparisonTest, NamesElementsInTheTensorsOwnRank) {
  compiler::Tensor tensor;
  tensor.type = v1::INT32;
  tensor.shape = {2, 2};
  std::string values(16, '\0');
  values[4] = 1;
  std::string other = values;
  other[12] = 1;
  Comparison comparison;
  ASSERT_TRUE(comparison.AddWhole(tensor, values, other, "fc", 0).ok());
  EXPECT_EQ(comparison.compared(), 4);
  EXPECT_EQ(comparison.mismatches(), 1);
  EXPECT_NE(comparison.first_mismatch().find(" at [1, 1]: "),
            std::string::npos);
}

}  // namespace
}  // namespace edgekiln::server
