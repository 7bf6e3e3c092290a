// Samples in, scores and comparisons out.

#include "server/worker/stages/samples.h"

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

struct Top1Case {
  std::string name;
  std::vector<int32_t> labels;
  std::vector<int64_t> input = {1, 4};
  std::vector<int64_t> output = {1, 3};
  int64_t labelled = 0;
  int64_t correct = 0;
  bool error = false;
};

class Top1Test : public testing::TestWithParam<Top1Case> {};

TEST_P(Top1Test, Counts) {
  const Top1Case& c = GetParam();
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
  auto top1 = Top1Counter::Create(inputs, in, Type(v1::INT8, c.output), *chunk);
  ASSERT_EQ(top1.ok(), !c.error) << top1.status();
  if (c.error) return;
  top1->Count(0, "\x01\x05\x05");  // 1: the first of two maxima.
  top1->Count(1, "\xff\xfe\xfd");  // 0: int8 is signed.
  EXPECT_EQ(top1->labelled(), c.labelled);
  EXPECT_EQ(top1->correct(), c.correct);
}

// The chunk begins at sample 1: the first label is not its own.
INSTANTIATE_TEST_SUITE_P(
    All, Top1Test,
    testing::Values(
        Top1Case{.name = "BothRight",
                 .labels = {9, 1, 0},
                 .labelled = 2,
                 .correct = 2},
        Top1Case{.name = "TieCountsForTheFirst",
                 .labels = {0, 2, 0},
                 .labelled = 2,
                 .correct = 1},
        Top1Case{.name = "NoLabelOnOne", .labels = {0, -1, 1}, .labelled = 1},
        Top1Case{.name = "NoLabels", .labels = {}},
        Top1Case{.name = "TooFewLabels", .labels = {0, 1}, .error = true},
        Top1Case{
            .name = "LabelBeyondClasses", .labels = {0, 3, 0}, .error = true},
        Top1Case{.name = "ReconstructionIsNoClass",
                 .labels = {0, 1, 0},
                 .input = {1, 3}},
        Top1Case{.name = "PictureIsNoClass",
                 .labels = {0, 1, 0},
                 .output = {1, 3, 2}},
        Top1Case{.name = "UnitExtentsDoNotMatter",
                 .labels = {0, 1, 0},
                 .output = {1, 1, 1, 3},
                 .labelled = 2,
                 .correct = 2}),
    [](const auto& info) { return info.param.name; });

TEST(ComparisonTest, FindsEveryDifferenceAndNamesTheFirst) {
  compiler::Tensor tensor;
  tensor.name = "y";
  tensor.type = v1::INT8;
  tensor.shape = {1, 2, 2, 3};
  const std::string want = "abcdefghijkl";
  v1::TensorSlice slice;
  slice.set_h_begin(1);
  slice.set_h_end(2);
  slice.set_w_end(2);
  slice.set_c_begin(1);
  slice.set_c_end(3);
  Comparison comparison;
  ASSERT_TRUE(comparison.Add(tensor, want, slice, "hikl", "conv", 3).ok());
  EXPECT_EQ(comparison.compared(), 4);
  EXPECT_EQ(comparison.mismatches(), 0);
  ASSERT_TRUE(comparison.Add(tensor, want, slice, "hiXY", "conv", 4).ok());
  EXPECT_EQ(comparison.compared(), 8);
  EXPECT_EQ(comparison.mismatches(), 2);
  EXPECT_EQ(comparison.first_mismatch(),
            "layer conv, sample 4, tensor 'y' at row 1, column 1, channel 1: "
            "got 88, want 107");
  EXPECT_FALSE(comparison.Add(tensor, want, slice, "hik", "conv", 5).ok());
  slice.set_h_end(3);
  EXPECT_FALSE(comparison.Add(tensor, want, slice, "hikl", "conv", 5).ok());
}

TEST(ComparisonTest, OtherRanksAreRows) {
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
  EXPECT_NE(comparison.first_mismatch().find("row 1, column 0, channel 1"),
            std::string::npos);
}

}  // namespace
}  // namespace edgekiln::server
