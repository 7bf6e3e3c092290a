#include "compiler/choose/answers.h"

#include <cstring>
#include <string>
#include <vector>

#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// Hands its input on, times `factor`, with `offset` for the first score.
Graph Scores(const std::string& factor, const std::string& offset,
             bool softmax) {
  const auto graph = ParseGraph(
      "%x : float32[1,1,3] = input\n"
      "%r : float32[1,3] = reshape(%x) id flat\n"
      "%f : float32[] = constant [" +
      factor +
      "]\n"
      "%o : float32[3] = constant [" +
      offset +
      ", 0, 0]\n"
      "%m : float32[1,3] = mul(%r, %f) id scale\n"
      "%s : float32[1,3] = add(%m, %o) id scores\n" +
      (softmax ? "%y : float32[1,3] = softmax(%s) {axis 1 beta 1} id softmax\n"
                 "return %y\n"
               : "return %s\n"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *graph;
}

std::vector<v1::Chunk> Chunks(const std::vector<std::vector<float>>& rows) {
  std::vector<v1::Chunk> chunks(1);
  chunks[0].set_samples(static_cast<int64_t>(rows.size()));
  std::string& data = *chunks[0].add_arrays()->mutable_data();
  for (const std::vector<float>& row : rows) {
    data.append(reinterpret_cast<const char*>(row.data()),
                row.size() * sizeof(float));
  }
  return chunks;
}

class AnswersTest : public testing::TestWithParam<bool> {};

TEST_P(AnswersTest, CountsWhatChangesAndWhatMayChange) {
  const std::vector<v1::Chunk> chunks =
      Chunks({{0, 5, 0}, {0, 0, 3}, {4, 1, 0}, {0, 0.5, 0.25}});
  const Graph real = Scores("1", "0", GetParam());
  auto samples = CalibrationSamples::Create(real, chunks);
  ASSERT_TRUE(samples.ok()) << samples.status();
  const auto answers =
      Answers::Create(real, *std::move(samples), ops::CpuPath::kAuto);
  ASSERT_TRUE(answers.ok()) << answers.status();
  EXPECT_TRUE(answers->has_scores());
  EXPECT_EQ(answers->samples(), 4);

  const auto same = answers->Compare(real);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->disagreement, 0);
  EXPECT_FALSE(same->sqnr_db);

  // Three of four change: at least 30 % of all.
  const auto most = answers->Compare(Scores("1", "4.5", GetParam()));
  ASSERT_TRUE(most.ok()) << most.status();
  EXPECT_GT(most->disagreement, 0.3);

  // Nothing has changed yet; leads are smaller by up to a tenth.
  const auto none = answers->Compare(Scores("0.9", "0", GetParam()));
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_GT(none->disagreement, 0.02);
  EXPECT_LT(none->disagreement, 0.3);
  EXPECT_NEAR(*none->sqnr_db, 20, 0.01);
  EXPECT_EQ(answers->ExpectedDisagreement(none->noise_power),
            none->disagreement);
  EXPECT_LT(answers->ExpectedDisagreement(none->noise_power / 100), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(All, AnswersTest, testing::Bool());

TEST(AnswersTest, OfOneValueNoiseIsCompared) {
  const char kText[] =
      "%x : float32[1,3] = input\n"
      "%f : float32[] = constant [FACTOR]\n"
      "%y : float32[1,3] = mul(%x, %f) id scale\n"
      "return %y\n";
  const auto graph_of = [&](const std::string& factor) {
    std::string text = kText;
    text.replace(text.find("FACTOR"), 6, factor);
    return *ParseGraph(text);
  };
  // The output has the shape of the input: a reconstruction.
  const std::vector<v1::Chunk> chunks = Chunks({{1, 2, 3}, {-1, 0, 4}});
  const Graph real = graph_of("1");
  auto samples = CalibrationSamples::Create(real, chunks);
  ASSERT_TRUE(samples.ok()) << samples.status();
  const auto answers =
      Answers::Create(real, *std::move(samples), ops::CpuPath::kAuto);
  ASSERT_TRUE(answers.ok()) << answers.status();
  EXPECT_FALSE(answers->has_scores());
  const auto changed = answers->Compare(graph_of("0.9"));
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_NEAR(changed->disagreement, 0.01, 1e-6);
}

}  // namespace
}  // namespace edgekiln::compiler
