#include "compiler/dataset/data_set.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/dataset/test_data.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

struct SetCase {
  std::string name;
  std::vector<std::string> files;
  std::vector<std::string> inputs;
  bool prefer_names;
  std::string want;
};

std::string DescribeSet(const absl::StatusOr<DataSet>& set) {
  if (!set.ok()) return Reason(set.status());
  std::string out = absl::StrCat(set->samples, " samples;");
  for (const StoredArray& array : set->arrays) {
    absl::StrAppend(&out, " ", array.name, " *", array.scale[0], " +",
                    array.offset[0]);
  }
  for (const int32_t label : set->labels.value_or(std::vector<int32_t>{})) {
    absl::StrAppend(&out, " y", label);
  }
  return out;
}

class DataSetTest : public testing::TestWithParam<SetCase> {};
TEST_P(DataSetTest, Gives) {
  const std::vector<absl::string_view> files(GetParam().files.begin(),
                                             GetParam().files.end());
  EXPECT_EQ(DescribeSet(
                LoadDataSet(files, GetParam().inputs, GetParam().prefer_names)),
            GetParam().want);
}

// The values are damaged, so reading them would tell.
TEST(LoadDataSetTest, RefusesByTheHeaderBeforeUnpacking) {
  std::string npz =
      Npz({{"x", Bytes({100, 30000}, std::string(3000000, 'a'))}});
  ASSERT_GT(npz.size(), 1000u);
  const size_t late = npz.size() / 2;
  npz[late] = static_cast<char>(npz[late] ^ 0x55);
  const std::vector<std::string> inputs = {"in"};
  const std::vector<absl::string_view> files = {npz};
  const auto unpacked = LoadDataSet(files, inputs, false);
  ASSERT_FALSE(unpacked.ok());
  EXPECT_NE(Reason(unpacked.status()), "DATA_SHAPE");
  const auto refused = LoadDataSet(files, inputs, false, {{28, 28, 1}});
  EXPECT_EQ(Reason(refused.status()), "DATA_SHAPE");
  EXPECT_NE(refused.status().message().find("28x28x1"),
            absl::string_view::npos);
  EXPECT_NE(refused.status().message().find("30000"), absl::string_view::npos);
}

TEST(LoadDataSetTest, FactorsAndLabelsAreBoundedByTheirHeaders) {
  const NpyArray x = Bytes({2, 1}, "ab");
  const NpyArray much = Bytes({3000000}, std::string(3000000, 'a'));
  const std::vector<std::string> inputs = {"in"};
  const struct {
    const char* array;
    const char* reason;
  } cases[] = {{"x_scale", "DATA_INVALID"}, {"y", "DATA_SHAPE"}};
  for (const auto& c : cases) {
    std::string npz = Npz({{"x", x}, {c.array, much}});
    const size_t late = npz.size() / 2;
    npz[late] = static_cast<char>(npz[late] ^ 0x55);
    const auto set = LoadDataSet({npz}, inputs, false, {{1}});
    EXPECT_EQ(Reason(set.status()), c.reason) << c.array << set.status();
  }
}

const NpyArray kX = Bytes({2, 1}, "ab");
const NpyArray kHalf{NpyType::kFloat32, {}, std::string("\0\0\0\x3f", 4)};
const NpyArray kNan{NpyType::kFloat32, {}, std::string("\0\0\xc0\x7f", 4)};

const SetCase kSetCases[] = {
    {"X", {Npz({{"x", kX}})}, {"in"}, false, "2 samples; x *1 +0"},
    {"ScaleAndLabels",
     {Npz({{"x", kX},
           {"x_scale", kHalf},
           {"x_offset", kHalf},
           {"y", Bytes({2}, "ab")}})},
     {"in"},
     false,
     "2 samples; x *0.5 +0.5 y97 y98"},
    {"ByName", {Npz({{"in", kX}})}, {"in"}, false, "2 samples; in *1 +0"},
    {"XFirst",
     {Npz({{"in", kX}, {"x", kX}})},
     {"in"},
     false,
     "2 samples; x *1 +0"},
    {"NameFirst",
     {Npz({{"in", kX}, {"x", kX}})},
     {"in"},
     true,
     "2 samples; in *1 +0"},
    {"TwoInputs",
     {Npz({{"b", kX}, {"a", kX}})},
     {"a", "b"},
     true,
     "2 samples; a *1 +0 b *1 +0"},
    {"NoSuchArray", {Npz({{"z", kX}})}, {"in"}, false, "DATA_ARRAY_MISSING"},
    {"XIsNotForTwoInputs",
     {Npz({{"x", kX}})},
     {"a", "b"},
     false,
     "DATA_ARRAY_MISSING"},
    {"DifferentSamples",
     {Npz({{"a", kX}, {"b", Bytes({1, 1}, "a")}})},
     {"a", "b"},
     false,
     "DATA_SHAPE"},
    {"NoSamples",
     {Npz({{"x", Bytes({0, 1}, "")}})},
     {"in"},
     false,
     "DATA_SHAPE"},
    {"ScalarX", {Npz({{"x", Bytes({}, "a")}})}, {"in"}, false, "DATA_SHAPE"},
    {"NanScale",
     {Npz({{"x", kX}, {"x_scale", kNan}})},
     {"in"},
     false,
     "DATA_INVALID"},
    {"LabelsOfOtherLength",
     {Npz({{"x", kX}, {"y", Bytes({1}, "a")}})},
     {"in"},
     false,
     "DATA_SHAPE"},
    {"FloatLabels",
     {Npz(
         {{"x", Bytes({1, 1}, "a")}, {"y", {NpyType::kFloat32, {1}, "abcd"}}})},
     {"in"},
     false,
     "DATA_INVALID"},
    {"LabelBelowNone",
     {Npz({{"x", Bytes({1, 1}, "a")}, {"y", {NpyType::kInt8, {1}, "\xfe"}}})},
     {"in"},
     false,
     "DATA_INVALID"},
    {"IdxPair",
     {IdxImages(), IdxLabels()},
     {"in"},
     false,
     "2 samples; IDX images *1 +0 y7 y3"},
    {"IdxImagesOnly",
     {IdxImages()},
     {"in"},
     false,
     "2 samples; IDX images *1 +0"},
    {"IdxTheWrongWayRound",
     {IdxLabels(), IdxImages()},
     {"in"},
     false,
     "DATA_INVALID"},
    {"Noise", {"noise"}, {"in"}, false, "DATA_FORMAT"},
    {"TwoNpz", {SmallNpz(), SmallNpz()}, {"in"}, false, "DATA_FORMAT"},
};
INSTANTIATE_TEST_SUITE_P(All, DataSetTest, testing::ValuesIn(kSetCases),
                         [](const auto& info) { return info.param.name; });

// The shape of gzip IDX is checked before its values are unpacked: these are
// damaged, and nobody gets to notice.
TEST(DataSetShapeTest, GzipIdxIsRefusedByItsHeader) {
  const std::string head("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02", 16);
  const std::string images = Gzip(head);  // Without values.
  const std::string labels = Gzip(IdxLabels());
  const std::string three(Gzip(std::string("\0\0\x08\x01\0\0\0\x03", 8)));
  const auto load = [](std::vector<absl::string_view> files, int64_t width) {
    return Reason(LoadDataSet(files, {"in"}, false, {{1, width}}).status());
  };
  EXPECT_EQ(load({images}, 3), "DATA_SHAPE");
  EXPECT_EQ(load({images, three}, 2), "DATA_SHAPE");
  EXPECT_EQ(load({images, labels}, 2), "DATA_CORRUPT");
}

}  // namespace
}  // namespace edgekiln::compiler
