#include "compiler/dataset/data_set.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/dataset/testing/test_data.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

struct SetCase {
  std::string name;
  std::vector<std::string> files;
  std::vector<std::string> inputs;
  std::string want;
  std::vector<std::vector<int64_t>> shapes = {};
  bool input_was_named = false;
  bool labels_optional = false;
  std::vector<bool> is_state = {};
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

// Of loading it and unpacking all its samples.
absl::Status Unpacked(absl::StatusOr<DataSet> set) {
  if (!set.ok()) return set.status();
  for (const StoredArray& array : set->arrays) {
    if (array.samples == nullptr) continue;
    const auto values = array.samples->Next(set->wanted);
    if (!values.ok()) return values.status();
    const absl::Status end = array.samples->Finish();
    if (!end.ok()) return end;
  }
  return absl::OkStatus();
}

class DataSetTest : public testing::TestWithParam<SetCase> {};
TEST_P(DataSetTest, Gives) {
  const std::vector<absl::string_view> files(GetParam().files.begin(),
                                             GetParam().files.end());
  EXPECT_EQ(DescribeSet(LoadDataSet(
                files, {.input_names = GetParam().inputs,
                        .is_state = GetParam().is_state,
                        .network_shapes = GetParam().shapes,
                        .input_was_named = GetParam().input_was_named,
                        .labels_optional = GetParam().labels_optional})),
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
  const absl::Status unpacked =
      Unpacked(LoadDataSet(files, {.input_names = inputs}));
  ASSERT_FALSE(unpacked.ok());
  EXPECT_NE(Reason(unpacked), "DATA_SHAPE");
  const auto refused = LoadDataSet(
      files, {.input_names = inputs, .network_shapes = {{28, 28, 1}}});
  EXPECT_EQ(Reason(refused.status()), "DATA_SHAPE");
  EXPECT_NE(refused.status().message().find("28x28x1"),
            absl::string_view::npos);
  EXPECT_NE(refused.status().message().find("30000"), absl::string_view::npos);
}

// The caller says that it reads a data set, once.
TEST(LoadDataSetTest, ErrorsDoNotRepeatTheirContext) {
  const std::vector<std::string> inputs = {"in"};
  const NpyArray x = Bytes({2, 1}, "ab");
  for (const std::string& npz :
       {Npz({{"x", Bytes({0, 1}, "")}}), Npz({{"other", x}}),
        Npz({{"x", x}, {"y", Bytes({3}, "abc")}}),
        Npz({{"x", x}, {"x_scale", Bytes({1, 1}, "a")}})}) {
    const std::vector<absl::string_view> files = {npz};
    const auto set = LoadDataSet(files, {.input_names = inputs});
    ASSERT_FALSE(set.ok());
    EXPECT_EQ(set.status().message().find("data set:"), absl::string_view::npos)
        << set.status();
  }
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
    const auto set =
        LoadDataSet({npz}, {.input_names = inputs, .network_shapes = {{1}}});
    EXPECT_EQ(Reason(set.status()), c.reason) << c.array << set.status();
  }
}

const NpyArray kX = Bytes({2, 1}, "ab");
const NpyArray kHalf{NpyType::kFloat32, {}, std::string("\0\0\0\x3f", 4)};
const NpyArray kNan{NpyType::kFloat32, {}, std::string("\0\0\xc0\x7f", 4)};

const SetCase kSetCases[] = {
    {"X", {Npz({{"x", kX}})}, {"in"}, "2 samples; x *1 +0"},
    {"ScaleAndLabels",
     {Npz({{"x", kX},
           {"x_scale", kHalf},
           {"x_offset", kHalf},
           {"y", Bytes({2}, "ab")}})},
     {"in"},
     "2 samples; x *0.5 +0.5 y97 y98"},
    {"ByName", {Npz({{"in", kX}})}, {"in"}, "2 samples; in *1 +0"},
    {"TheInputsNameComesFirst",
     {Npz({{"in", kX}, {"x", kX}})},
     {"in"},
     "2 samples; in *1 +0"},
    {"XIfTheOtherDoesNotFit",
     {Npz({{"in", Bytes({2, 2}, "abcd")}, {"x", kX}})},
     {"in"},
     "2 samples; x *1 +0",
     {{1}}},
    {"TheInputsNameIfNeitherFits",
     {Npz({{"in", Bytes({2, 2}, "abcd")}, {"x", kX}})},
     {"in"},
     "DATA_SHAPE",
     {{3}}},
    {"UnnamedArray", {Npz({{"arr_0", kX}})}, {"in"}, "2 samples; arr_0 *1 +0"},
    {"SingleNpy", {EncodeNpy(kX)}, {"in"}, "2 samples; x *1 +0"},
    {"NpyAndLabels",
     {EncodeNpy(kX), EncodeNpy(Bytes({2}, "ab"))},
     {"in"},
     "2 samples; x *1 +0 y97 y98"},
    {"NpyAndTooManyLabels",
     {EncodeNpy(kX), EncodeNpy(Bytes({3}, "abc"))},
     {"in"},
     "DATA_SHAPE"},
    {"NpyAndOtherLabels", {EncodeNpy(kX), IdxLabels()}, {"in"}, "DATA_CORRUPT"},
    {"NpyOfOtherShape", {EncodeNpy(kX)}, {"in"}, "DATA_SHAPE", {{3}}},
    {"NpyForTwoInputs", {EncodeNpy(kX)}, {"a", "b"}, "DATA_INVALID"},
    // Inputs with the names of a data set's parts.
    {"InputsXAndY",
     {Npz({{"x", kX}, {"y", kX}})},
     {"x", "y"},
     "2 samples; x *1 +0 y *1 +0"},
    {"InputsWithTheirFactors",
     {Npz({{"x", kX}, {"x_scale", kX}, {"x_offset", kX}})},
     {"x", "x_scale", "x_offset"},
     "2 samples; x *1 +0 x_scale *1 +0 x_offset *1 +0"},
    {"InputCalledLabels",
     {Npz({{"x", kX}, {"labels", kX}, {"y", kX}})},
     {"x", "labels"},
     "2 samples; x *1 +0 labels *1 +0 y97 y98"},
    {"ClassNamesAreNoInput",
     {Npz({{"x", kX}, {"labels", Bytes({3, 2}, "abcdef")}, {"y", kX}})},
     {"labels"},
     "2 samples; x *1 +0 y97 y98",
     {{1}}},
    {"OnlyInputX",
     {Npz({{"x", kX}, {"y", kX}})},
     {"x"},
     "2 samples; x *1 +0 y97 y98"},
    {"OnlyInputYOfLabels",
     {Npz({{"x", Bytes({2, 2}, "abcd")}, {"y", Bytes({2}, "ab")}})},
     {"y"},
     "2 samples; x *1 +0 y97 y98",
     {{2}}},
    {"OnlyInputYOfSamples",
     {Npz({{"x", kX}, {"y", Bytes({2, 2}, "abcd")}})},
     {"y"},
     "2 samples; y *1 +0",
     {{2}}},
    {"OnlyInputYBothFit",
     {Npz({{"x", kX}, {"y", kX}})},
     {"y"},
     "DATA_AMBIGUOUS",
     {{1}}},
    {"OnlyInputYSaidToBe",
     {Npz({{"x", kX}, {"y", kX}})},
     {"y"},
     "2 samples; y *1 +0",
     {{1}},
     true},
    {"OnlyInputYOfFloats",
     {Npz({{"x", kX}, {"y", {NpyType::kFloat32, {2}, "abcdefgh"}}})},
     {"y"},
     "2 samples; y *1 +0",
     {{1}}},
    {"OnlyInputXScaleBothFit",
     {Npz({{"x", kX}, {"x_scale", Bytes({2}, "ab")}})},
     {"x_scale"},
     "DATA_AMBIGUOUS",
     {{1}}},
    {"OnlyInputXScaleIsAFactor",
     {Npz({{"x", kX}, {"x_scale", kHalf}})},
     {"x_scale"},
     "2 samples; x *0.5 +0",
     {{1}}},
    // Labels.
    {"LabelsInAColumn",
     {Npz({{"x", kX}, {"y", Bytes({2, 1}, "ab")}})},
     {"in"},
     "2 samples; x *1 +0 y97 y98"},
    {"OneHotLabels",
     {Npz({{"x", kX}, {"y", Bytes({2, 2}, "abcd")}})},
     {"in"},
     "DATA_SHAPE"},
    {"ExpectedOutputsBesideSamples",
     {Npz({{"x", kX}, {"y", {NpyType::kFloat32, {2}, "abcdefgh"}}})},
     {"in"},
     "2 samples; x *1 +0",
     {{1}},
     false,
     true},
    {"OptionalLabels",
     {Npz({{"x", kX}, {"y", kX}})},
     {"in"},
     "2 samples; x *1 +0 y97 y98",
     {{1}},
     false,
     true},
    // States begin as zero where nothing is stored.
    {"XBesideAState",
     {Npz({{"x", kX}, {"y", kX}})},
     {"h", "in"},
     "2 samples;  *1 +0 x *1 +0 y97 y98",
     {{5}, {1}},
     false,
     false,
     {true, false}},
    {"StateThatIsStored",
     {Npz({{"x", kX}, {"h", kX}})},
     {"h", "in"},
     "2 samples; h *1 +0 x *1 +0",
     {{1}, {1}},
     false,
     false,
     {true, false}},
    {"IdxBesideAState",
     {IdxImages()},
     {"h", "in"},
     "2 samples;  *1 +0 IDX images *1 +0",
     {{5}, {1, 2}},
     false,
     false,
     {true, false}},
    {"NpyBesideAState",
     {EncodeNpy(kX)},
     {"in", "h"},
     "2 samples; x *1 +0  *1 +0",
     {{1}, {5}},
     false,
     false,
     {false, true}},
    {"NothingButStates",
     {Npz({{"x", kX}})},
     {"h"},
     "DATA_ARRAY_MISSING",
     {{1}},
     false,
     false,
     {true}},
    // Extents of 0.
    {"SamplesWithoutElements",
     {Npz({{"x", Bytes({3, 0}, "")}})},
     {"in"},
     "3 samples; x *1 +0",
     {{0}}},
    {"NoElementsForSome",
     {Npz({{"x", Bytes({3, 0}, "")}})},
     {"in"},
     "DATA_SHAPE",
     {{2}}},
    {"TooManyWithoutElements",
     {Npz({{"x", Bytes({1'000'000'000, 0}, "")}})},
     {"in"},
     "DATA_SHAPE",
     {{0}}},
    {"TwoInputs",
     {Npz({{"b", kX}, {"a", kX}})},
     {"a", "b"},
     "2 samples; a *1 +0 b *1 +0"},
    {"NoSuchArray", {Npz({{"z", kX}})}, {"in"}, "DATA_ARRAY_MISSING"},
    {"XIsNotForTwoInputs",
     {Npz({{"x", kX}})},
     {"a", "b"},
     "DATA_ARRAY_MISSING"},
    {"DifferentSamples",
     {Npz({{"a", kX}, {"b", Bytes({1, 1}, "a")}})},
     {"a", "b"},
     "DATA_SHAPE"},
    {"NoSamples", {Npz({{"x", Bytes({0, 1}, "")}})}, {"in"}, "DATA_SHAPE"},
    {"ScalarX", {Npz({{"x", Bytes({}, "a")}})}, {"in"}, "DATA_SHAPE"},
    {"NanScale", {Npz({{"x", kX}, {"x_scale", kNan}})}, {"in"}, "DATA_INVALID"},
    {"LabelsOfOtherLength",
     {Npz({{"x", kX}, {"y", Bytes({1}, "a")}})},
     {"in"},
     "DATA_SHAPE"},
    {"FloatLabels",
     {Npz(
         {{"x", Bytes({1, 1}, "a")}, {"y", {NpyType::kFloat32, {1}, "abcd"}}})},
     {"in"},
     "DATA_INVALID"},
    {"LabelBelowNone",
     {Npz({{"x", Bytes({1, 1}, "a")}, {"y", {NpyType::kInt8, {1}, "\xfe"}}})},
     {"in"},
     "DATA_INVALID"},
    {"IdxPair",
     {IdxImages(), IdxLabels()},
     {"in"},
     "2 samples; IDX images *1 +0 y7 y3"},
    {"IdxImagesOnly", {IdxImages()}, {"in"}, "2 samples; IDX images *1 +0"},
    {"IdxTheWrongWayRound", {IdxLabels(), IdxImages()}, {"in"}, "DATA_INVALID"},
    {"Noise", {"noise"}, {"in"}, "DATA_FORMAT"},
    {"TwoNpz", {SmallNpz(), SmallNpz()}, {"in"}, "DATA_FORMAT"},
};
INSTANTIATE_TEST_SUITE_P(All, DataSetTest, testing::ValuesIn(kSetCases),
                         [](const auto& info) { return info.param.name; });

TEST(DataSetErrorTest, SaysWhatBothReadingsAre) {
  const std::string npz = Npz({{"x", kX}, {"y", kX}});
  const auto set =
      LoadDataSet({npz}, {.input_names = {"y"}, .network_shapes = {{1}}});
  const auto detail = GetErrorDetail(set.status());
  ASSERT_TRUE(detail.has_value()) << set.status();
  EXPECT_EQ(detail->limit,
            "read as the array of the input's name: y feeds it, x is not read; "
            "read as a data set: x feeds it, y holds the labels");
  EXPECT_NE(detail->fix.find("add --input 'y:scale=1'"), std::string::npos);
}

TEST(DataSetErrorTest, LabelsBeyondInt64StayLarge) {
  const std::string npz =
      Npz({{"x", Bytes({1, 1}, "a")},
           {"y", {NpyType::kUint64, {1}, std::string(8, '\xff')}}});
  const auto set = LoadDataSet({npz}, {.input_names = {"in"}});
  const auto detail = GetErrorDetail(set.status());
  ASSERT_TRUE(detail.has_value()) << set.status();
  EXPECT_EQ(detail->what, "label 9223372036854775807 of sample 0");
}

TEST(DataSetErrorTest, ASampleWithoutItsAxisIsRecognized) {
  const std::string npz = Npz({{"x", Bytes({2, 3}, "abcdef")}});
  const auto set =
      LoadDataSet({npz}, {.input_names = {"in"}, .network_shapes = {{2, 3}}});
  const auto detail = GetErrorDetail(set.status());
  ASSERT_TRUE(detail.has_value()) << set.status();
  EXPECT_EQ(detail->fix,
            "samples lie along the first axis: store a single one as "
            "array[None]");
}

// The shape of gzip IDX is checked before its values are unpacked: these are
// damaged, and nobody gets to notice.
TEST(DataSetShapeTest, GzipIdxIsRefusedByItsHeader) {
  const std::string head("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02", 16);
  const std::string images = Gzip(head);  // Without values.
  const std::string labels = Gzip(IdxLabels());
  const std::string three(Gzip(std::string("\0\0\x08\x01\0\0\0\x03", 8)));
  const auto load = [](std::vector<absl::string_view> files, int64_t width) {
    return Reason(Unpacked(LoadDataSet(
        files, {.input_names = {"in"}, .network_shapes = {{1, width}}})));
  };
  EXPECT_EQ(load({images}, 3), "DATA_SHAPE");
  EXPECT_EQ(load({images, three}, 2), "DATA_SHAPE");
  EXPECT_EQ(load({images, labels}, 2), "DATA_CORRUPT");
}

}  // namespace
}  // namespace edgekiln::compiler
