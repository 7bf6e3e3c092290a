#include "compiler/dataset/convert.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "compiler/dataset/element_type.h"
#include "compiler/dataset/testing/test_data.h"
#include "gtest/gtest.h"
#include "tests/support/npz.h"
#include "tests/support/shared_data.h"

namespace edgekiln::compiler {
namespace {

// The data set of a file with these arrays, for a model with one input.
absl::StatusOr<ConvertedData> Converted(const Arrays& arrays,
                                        const v1::TensorType& type,
                                        const v1::ConvertDataOptions& options) {
  const std::string npz = Npz(arrays);
  return ConvertDataSet(options, {absl::string_view(npz)}, {{type}, {false}});
}

// Values of all chunks, or the reason of the error.
std::string Convert(const Arrays& arrays, const v1::TensorType& type,
                    const v1::ConvertDataOptions& options) {
  const auto data = Converted(arrays, type, options);
  if (!data.ok()) return Reason(data.status());
  std::string out;
  for (const v1::Chunk& chunk : data->chunks) {
    NpyArray values{
        *NpyTypeOf(type.element_type()), {}, chunk.arrays(0).data()};
    absl::StrAppend(&out, out.empty() ? "" : " ", "@", chunk.first_sample(),
                    ":");
    for (int64_t i = 0; i < values.elements(); ++i) {
      absl::StrAppend(&out, " ", NpyValue(values, i));
    }
  }
  return out;
}

struct Case {
  std::string name;
  Arrays arrays;
  v1::TensorType type;
  std::string want;
  std::function<void(v1::ConvertDataOptions&)> change = [](auto&) {};
};

v1::InputTransform* Add(v1::ConvertDataOptions& options) {
  return options.add_transforms();
}

class ConvertTest : public testing::TestWithParam<Case> {};

TEST_P(ConvertTest, Gives) {
  v1::ConvertDataOptions options;
  options.set_chunk_samples(100);
  GetParam().change(options);
  EXPECT_EQ(Convert(GetParam().arrays, GetParam().type, options),
            GetParam().want);
}

const float kInf = std::numeric_limits<float>::infinity();

const Case kCases[] = {
    {"FloatTakesReals",
     {{"x", U8({2, 2}, {0, 1, 2, 255})},
      {"x_scale", F32({}, {0.5})},
      {"x_offset", F32({}, {1})}},
     Type(v1::FLOAT32, {1, 2}),
     "@0: 1 1.5 2 128.5"},
    {"PixelToSignedPixel",
     {{"x", U8({1, 3}, {0, 128, 255})}},
     Type(v1::INT8, {1, 3}, 1, -128),
     "@0: -128 0 127"},
    {"PixelToUnit",
     {{"x", U8({1, 3}, {0, 128, 255})}},
     Type(v1::UINT8, {1, 3}, 1 / 255.f, 0),
     "@0: 0 128 255",
     [](auto& o) { Add(o)->add_scale(1 / 255.0); }},
    {"HalvesRoundAway",
     {{"x", F32({1, 4}, {0.5, -0.5, 1.5, 2.5})}},
     Type(v1::INT8, {1, 4}, 1, 0),
     "@0: 1 -1 2 3"},
    {"Saturates",
     {{"x", F32({1, 4}, {-200, 200, 0, 0})}},
     Type(v1::INT8, {1, 4}, 1, 0),
     "@0: -128 127 0 0"},
    {"Int16",
     {{"x", F32({1, 2}, {-200, 200})}},
     Type(v1::INT16, {1, 2}, 0.01f, 0),
     "@0: -20000 20000"},
    {"HalfFloats",
     {{"x", F32({1, 3}, {0.5, 65504, 0.1f})}},
     Type(v1::FLOAT16, {1, 3}),
     "@0: 0.5 65504 0.0999756"},
    {"TooLargeForAHalf",
     {{"x", F32({1, 1}, {65520})}},
     Type(v1::FLOAT16, {1, 1}),
     "DATA_VALUE"},
    {"Bools",
     {{"x", U8({1, 3}, {0, 1, 0})}},
     Type(v1::BOOL, {1, 3}),
     "@0: 0 1 0"},
    {"NoBool", {{"x", U8({1, 1}, {2})}}, Type(v1::BOOL, {1, 1}), "DATA_VALUE"},
    {"PlainIntegers",
     {{"x", U8({1, 2}, {3, 4})}},
     Type(v1::INT32, {1, 2}),
     "@0: 3 4"},
    {"PlainIntegersAreWhole",
     {{"x", F32({1, 1}, {0.5})}},
     Type(v1::INT32, {1, 1}),
     "DATA_VALUE"},
    {"PlainIntegersFit",
     {{"x", U8({1, 1}, {200})}},
     Type(v1::INT8, {1, 1}),
     "DATA_VALUE"},
    {"Uint32",
     {{"x", Array<uint32_t>(NpyType::kUint32, {1, 2}, {7, 4294967295u})}},
     Type(v1::UINT32, {1, 2}),
     "@0: 7 4.29497e+09"},
    {"Uint32IsNotNegative",
     {{"x", I8({1, 1}, {-1})}},
     Type(v1::UINT32, {1, 1}),
     "DATA_VALUE"},
    {"Uint64",
     {{"x", Array<uint64_t>(NpyType::kUint64, {1, 1}, {9})}},
     Type(v1::UINT64, {1, 1}),
     "@0: 9"},
    {"BeyondWholeDoubles",
     {{"x", Array<uint64_t>(NpyType::kUint64, {1, 1}, {uint64_t{1} << 60})}},
     Type(v1::UINT64, {1, 1}),
     "DATA_VALUE"},
    {"NoElements",
     {{"x", F32({3, 0}, {})}},
     Type(v1::FLOAT32, {1, 0}),
     "@0: @2:",
     [](auto& o) { o.set_chunk_samples(2); }},
    {"CubeAsStored",
     {{"x", U8({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})}},
     Type(v1::FLOAT32, {1, 2, 2, 2}),
     "@0: 0 1 2 3 4 5 6 7"},
    {"Nan",
     {{"x", F32({1, 1}, {std::nanf("")})}},
     Type(v1::FLOAT32, {1, 1}),
     "DATA_VALUE"},
    {"Infinity",
     {{"x", F32({1, 1}, {kInf})}},
     Type(v1::INT8, {1, 1}, 1, 0),
     "DATA_VALUE"},
    {"BeyondFloat",
     {{"x", Array<double>(NpyType::kFloat64, {1, 1}, {1e300})}},
     Type(v1::FLOAT32, {1, 1}),
     "DATA_VALUE"},
    {"Chunks",
     {{"x", U8({3, 1}, {7, 8, 9})}},
     Type(v1::UINT8, {1, 1}, 1, 0),
     "@0: 7 8 @2: 9",
     [](auto& o) { o.set_chunk_samples(2); }},
    {"Limit",
     {{"x", U8({3, 1}, {7, 8, 9})}},
     Type(v1::UINT8, {1, 1}, 1, 0),
     "@0: 7 8",
     [](auto& o) { o.set_limit(2); }},
    {"PerChannel",
     {{"x", U8({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6})}},
     Type(v1::FLOAT32, {1, 3, 2, 1}),
     "@0: 11 14 40 100 900 1800",
     [](auto& o) {
       auto* t = Add(o);
       for (const double s : {1, 20, 300}) t->add_scale(s);
       for (const double s : {10, 0, 0}) t->add_offset(s);
     }},
    {"BgrScalesCountAsTheNetworkSees",
     {{"x", U8({1, 1, 1, 3}, {1, 2, 3})}},
     Type(v1::FLOAT32, {1, 1, 1, 3}),
     "@0: 3 20 100",
     [](auto& o) {
       auto* t = Add(o);
       t->set_order(v1::InputTransform::BGR);
       for (const double s : {1, 10, 100}) t->add_scale(s);
     }},
    {"DataScalePerChannel",
     {{"x", U8({1, 1, 1, 3}, {1, 2, 3})}, {"x_scale", F32({3}, {1, 10, 100})}},
     Type(v1::FLOAT32, {1, 1, 1, 3}),
     "@0: 1 20 300"},
    {"TwoScalesForThreeChannels",
     {{"x", U8({1, 1, 1, 3}, {1, 2, 3})}, {"x_scale", F32({2}, {1, 10})}},
     Type(v1::FLOAT32, {1, 1, 1, 3}),
     "DATA_CHANNELS"},
    {"WrongShape",
     {{"x", U8({1, 2, 2}, {1, 2, 3, 4})}},
     Type(v1::FLOAT32, {1, 3, 3, 1}),
     "DATA_SHAPE"},
    {"UnknownInput",
     {{"x", U8({1, 1}, {1})}},
     Type(v1::FLOAT32, {1, 1}),
     "INPUT_OPTION",
     [](auto& o) { Add(o)->set_input("other"); }},
    {"InputTwice",
     {{"x", U8({1, 1}, {1})}},
     Type(v1::FLOAT32, {1, 1}),
     "INPUT_OPTION",
     [](auto& o) { Add(o), Add(o); }},
    {"NanOption",
     {{"x", U8({1, 1}, {1})}},
     Type(v1::FLOAT32, {1, 1}),
     "INPUT_OPTION",
     [](auto& o) { Add(o)->add_scale(std::nan("")); }},
    // Scales that belong to another network.
    {"PixelsForUnitInput",
     {{"x", U8({1, 4}, {0, 90, 180, 255})}},
     Type(v1::INT8, {1, 4}, 1 / 255.f, -128),
     "DATA_SCALE"},
    {"SparsePixelsForUnitInput",
     {{"x", U8({1, 4}, {0, 0, 0, 255})}},
     Type(v1::INT8, {1, 4}, 1 / 255.f, -128),
     "DATA_SCALE"},
    {"UnitDataForPixels",
     {{"x", U8({1, 4}, {0, 90, 180, 255})}, {"x_scale", F32({}, {1 / 255.f})}},
     Type(v1::INT8, {1, 4}, 1, -128),
     "DATA_SCALE"},
    {"MostlyClippedFloats",
     {{"x", F32({1, 3}, {0, 999, 999})}},
     Type(v1::INT8, {1, 3}, 1, 0),
     "DATA_SCALE"},
    {"FewClippedFloatsAreFine",
     {{"x", F32({1, 3}, {0, 1, 999})}},
     Type(v1::INT8, {1, 3}, 1, 0),
     "@0: 0 1 127"},
    {"BlackIsFine",
     {{"x", U8({1, 2}, {0, 0})}},
     Type(v1::INT8, {1, 2}, 1, -128),
     "@0: -128 -128"},
    // Raw: elements as they are.
    {"RawCopies",
     {{"in", I8({1, 2}, {-128, 5})}},
     Type(v1::INT8, {1, 2}, 0.1f, 3),
     "@0: -128 5",
     [](auto& o) { o.set_raw(true); }},
    {"RawIgnoresScale",
     {{"x", I8({1, 1}, {5})}, {"x_scale", F32({}, {2})}},
     Type(v1::INT8, {1, 1}, 1, 0),
     "@0: 5",
     [](auto& o) { o.set_raw(true); }},
    {"RawUint64IsExact",
     {{"in",
       Array<uint64_t>(NpyType::kUint64, {1, 1}, {(uint64_t{1} << 60) + 1})}},
     Type(v1::UINT64, {1, 1}),
     "@0: 1.15292e+18",
     [](auto& o) { o.set_raw(true); }},
    {"RawOfOtherType",
     {{"x", U8({1, 1}, {5})}},
     Type(v1::INT8, {1, 1}, 1, 0),
     "DATA_TYPE",
     [](auto& o) { o.set_raw(true); }},
    {"RawWithLayout",
     {{"x", I8({1, 1, 2, 3}, {0, 1, 2, 3, 4, 5})}},
     Type(v1::INT8, {1, 3, 1, 2}, 1, 0),
     "@0: 0 3 1 4 2 5",
     [](auto& o) {
       o.set_raw(true);
       Add(o)->set_layout(v1::InputTransform::NHWC);
     }},
    {"RawWithScaleConverts",
     {{"x", U8({1, 2}, {0, 255})}},
     Type(v1::INT8, {1, 2}, 1, -128),
     "@0: -128 127",
     [](auto& o) {
       o.set_raw(true);
       Add(o)->add_scale(1);
     }},
};
INSTANTIATE_TEST_SUITE_P(All, ConvertTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(InputsOfTest, KnowsTheLayoutByTheFirstOps) {
  v1::Graph graph;
  for (int i = 0; i < 4; ++i) graph.add_inputs(i);
  for (int i = 0; i < 4; ++i) graph.add_tensors();
  const auto add = [&](int input) {
    v1::Op* op = graph.add_ops();
    op->add_inputs(input);
    op->add_outputs(static_cast<int>(graph.tensors_size()));
    graph.add_tensors();
    return op->mutable_attributes();
  };
  auto* turn = add(0)->mutable_transpose();
  for (const int axis : {0, 2, 3, 1}) turn->add_permutation(axis);
  add(1)->mutable_quantize();
  add(graph.tensors_size() - 1)->mutable_conv2d();
  add(2)->mutable_reshape();
  // A transposition of one channel, simplified.
  add(3)->mutable_reshape();
  *graph.mutable_tensors(3)->mutable_type() = Type(v1::FLOAT32, {1, 1, 28, 30});
  *graph.mutable_tensors(graph.tensors_size() - 1)->mutable_type() =
      Type(v1::FLOAT32, {1, 28, 30, 1});
  const ModelInputs inputs = InputsOf(graph);
  EXPECT_EQ(inputs.is_nchw, (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(inputs.is_nhwc, (std::vector<bool>{false, true, false, false}));
}

TEST(ConvertTest, ErrorsAboutValuesNameInputAndFix) {
  v1::ConvertDataOptions options;
  options.set_chunk_samples(1);
  const auto data = Converted({{"x", F32({1, 2}, {0, kInf})}},
                              Type(v1::FLOAT32, {1, 2}), options);
  const auto detail = GetErrorDetail(data.status());
  ASSERT_TRUE(detail.has_value()) << data.status();
  EXPECT_EQ(detail->where, "in");
  EXPECT_FALSE(detail->fix.empty());
}

TEST(ConvertTest, AnUnknownInputIsToldTheKnownOnes) {
  v1::ConvertDataOptions options;
  options.set_chunk_samples(1);
  options.add_transforms()->set_input("nosuch");
  const auto data = Converted({{"x", F32({1, 2}, {0, 1})}},
                              Type(v1::FLOAT32, {1, 2}), options);
  const auto detail = GetErrorDetail(data.status());
  ASSERT_TRUE(detail.has_value()) << data.status();
  EXPECT_EQ(detail->need, "one of: in");
  EXPECT_EQ(detail->fix, "name it: --input 'in:KEY=VALUE'");
}

TEST(ConvertTest, TheSuggestedScaleWorks) {
  const Arrays arrays = {{"x", U8({1, 3}, {0, 128, 255})}};
  v1::ConvertDataOptions options;
  options.set_chunk_samples(1);
  const v1::TensorType type = Type(v1::INT8, {1, 3}, 0.0078125f, 0);
  const auto bad = Converted(arrays, type, options);
  EXPECT_NE(bad.status().message().find("scale=0.0078125,offset=-1'"),
            absl::string_view::npos)
      << bad.status();
  options.add_transforms()->add_scale(0.0078125);
  options.mutable_transforms(0)->add_offset(-1);
  const auto good = Converted(arrays, type, options);
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->chunks[0].arrays(0).data(), std::string("\x80\x00\x7f", 3));
}

TEST(ConvertTest, LargeSetsGetLargerChunks) {
  v1::ConvertDataOptions options;
  options.set_chunk_samples(1);
  const auto data =
      Converted({{"x", U8({1000, 1}, std::vector<uint8_t>(1000, 7))}},
                Type(v1::UINT8, {1, 1}, 1, 0), options);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->chunks.size(), 125u);
  EXPECT_EQ(data->chunks[1].first_sample(), 8);
  EXPECT_EQ(data->chunks[1].samples(), 8);
}

TEST(ConvertTest, LabelsFollowTheLimit) {
  v1::ConvertDataOptions options;
  options.set_chunk_samples(2);
  options.set_limit(2);
  const auto data =
      Converted({{"x", U8({3, 1}, {1, 2, 3})}, {"y", I8({3}, {4, -1, 5})}},
                Type(v1::UINT8, {1, 1}, 1, 0), options);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->samples, 2);
  EXPECT_EQ(data->labelled, 1);
  ASSERT_TRUE(data->labels.has_value());
  EXPECT_EQ(data->labels->label_size(), 2);
}

TEST(ConvertTest, LabelsAreMovedToTheClasses) {
  const struct {
    int offset;
    std::string want;
  } cases[] = {{1, "1 -1 6"},
               {-5, "label 0 of sample 0 becomes class -5"},
               {2147483647, "label 5 of sample 2 becomes class 2147483652"}};
  for (const auto& c : cases) {
    v1::ConvertDataOptions options;
    options.set_chunk_samples(2);
    options.set_label_offset(c.offset);
    const auto data =
        Converted({{"x", U8({3, 1}, {1, 2, 3})}, {"y", I8({3}, {0, -1, 5})}},
                  Type(v1::UINT8, {1, 1}, 1, 0), options);
    const std::string got =
        data.ok() ? absl::StrJoin(data->labels->label(), " ")
                  : GetErrorDetail(data.status()).value_or(ErrorDetail{}).what;
    EXPECT_EQ(got, c.want);
  }
}

TEST(ConvertTest, AModelWithoutInputsRunsAsOftenAsAsked) {
  const struct {
    int64_t limit;
    std::string want;
  } cases[] = {{0, "1 in 1"}, {40, "40 in 3"}, {65537, "BAD_LIMIT"}};
  for (const auto& c : cases) {
    v1::ConvertDataOptions options;
    options.set_chunk_samples(16);
    options.set_limit(c.limit);
    const auto data = ConvertDataSet(options, {}, ModelInputs{});
    EXPECT_EQ(data.ok()
                  ? absl::StrCat(data->samples, " in ", data->chunks.size())
                  : Reason(data.status()),
              c.want);
  }
}

TEST(ConvertTest, InputsAndDataNeedEachOther) {
  v1::ConvertDataOptions options;
  options.set_chunk_samples(1);
  const v1::TensorType type = Type(v1::UINT8, {1, 1}, 1, 0);
  EXPECT_EQ(Reason(ConvertDataSet(options, {}, {{type}, {false}}).status()),
            "NO_DATA");
  const std::string npz = SmallNpz();
  EXPECT_EQ(
      Reason(ConvertDataSet(options, {absl::string_view(npz)}, ModelInputs{})
                 .status()),
      "DATA_INVALID");
}

TEST(ConvertTest, StatesWithoutAnArrayAreCarried) {
  v1::TensorType state = Type(v1::INT8, {1, 2}, 0.5f, 3);
  state.set_name("h");
  const ModelInputs inputs{.types = {state, Type(v1::FLOAT32, {1, 1})},
                           .is_nchw = {false, false},
                           .is_state = {true, false}};
  const std::string npz = Npz({{"x", F32({2, 1}, {4, 5})}});
  for (const bool raw : {false, true}) {
    v1::ConvertDataOptions options;
    options.set_chunk_samples(16);
    options.set_raw(raw);
    // Without a name: the only input that is no state.
    if (!raw) options.add_transforms()->add_scale(1);
    const auto data = ConvertDataSet(options, {absl::string_view(npz)}, inputs);
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_TRUE(data->chunks[0].arrays(0).carried());
    EXPECT_EQ(data->chunks[0].arrays(0).data(), "");
    EXPECT_EQ(data->chunks[0].arrays(0).type().name(), "h");
    EXPECT_FALSE(data->chunks[0].arrays(1).carried());
    EXPECT_EQ(data->chunks[0].arrays(1).data().size(), 8u);
  }
  v1::ConvertDataOptions options;
  options.set_chunk_samples(16);
  const std::string both =
      Npz({{"x", F32({2, 1}, {4, 5})}, {"h", F32({2, 2}, {0, 1, 2, -1})}});
  const auto data = ConvertDataSet(options, {absl::string_view(both)}, inputs);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_FALSE(data->chunks[0].arrays(0).carried());
  EXPECT_EQ(data->chunks[0].arrays(0).data(), "\x03\x05\x07\x01");
}

TEST(ConvertTest, NoLabelsIfNoSampleHasOne) {
  v1::ConvertDataOptions options;
  options.set_chunk_samples(2);
  const auto data = Converted({{"x", U8({1, 1}, {1})}, {"y", I8({1}, {-1})}},
                              Type(v1::UINT8, {1, 1}, 1, 0), options);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_FALSE(data->labels.has_value());
}

struct IdentityCase {
  std::string file;
  v1::TensorType type;
  int shift;  // Network element = stored element + shift.
};

// The data sets that were quantized like their network arrive untouched.
TEST(ConvertTest, StoredGridsAreKept) {
  const IdentityCase cases[] = {
      {"data/kws_500.npz",
       Type(v1::INT8, {1, 49, 10, 1}, 0.5847029089927673f, 83), 0},
      {"data/cifar10_ic_100.npz", Type(v1::INT8, {1, 32, 32, 3}, 1, -128),
       -128},
  };
  for (const IdentityCase& c : cases) {
    EK_REQUIRE_SHARED(c.file);
    const std::string bytes = tests::ReadWholeFile(tests::SharedPath(c.file));
    v1::ConvertDataOptions options;
    options.set_chunk_samples(1000);
    const auto data = ConvertDataSet(options, {absl::string_view(bytes)},
                                     {{c.type}, {false}});
    ASSERT_TRUE(data.ok()) << data.status();
    const auto stored = tests::ReadNpz(tests::SharedPath(c.file));
    ASSERT_TRUE(stored.ok());
    const std::vector<int> want = stored->at("x").As<int>();
    const std::string& got = data->chunks[0].arrays(0).data();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(static_cast<int8_t>(got[i]), want[i] + c.shift)
          << c.file << " " << i;
    }
  }
}

}  // namespace
}  // namespace edgekiln::compiler
