#include "compiler/dataset/sample_layout.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

using Transform = v1::InputTransform;

struct Case {
  std::string name;
  std::vector<int64_t> stored;
  std::vector<int64_t> network;
  std::string want;  // Source indices, or the reason of the error.
  Transform::Layout layout = Transform::LAYOUT_UNSPECIFIED;
  Transform::ChannelOrder order = Transform::CHANNEL_ORDER_UNSPECIFIED;
  bool network_is_nchw = false;
  bool network_is_nhwc = false;
};

class SampleLayoutTest : public testing::TestWithParam<Case> {};

TEST_P(SampleLayoutTest, Takes) {
  const Case& c = GetParam();
  LayoutQuestion question;
  question.input = "in";
  question.stored_shape = c.stored;
  question.network_shape = c.network;
  question.layout = c.layout;
  question.order = c.order;
  question.network_is_nchw = c.network_is_nchw;
  question.network_is_nhwc = c.network_is_nhwc;
  const auto layout = ResolveLayout(question);
  const std::string got =
      layout.ok()
          ? absl::StrJoin(layout->source, " ")
          : GetErrorDetail(layout.status()).value_or(ErrorDetail{}).reason;
  EXPECT_EQ(got, c.want) << layout.status();
}

const Case kCases[] = {
    {"Same", {1, 2, 3}, {1, 2, 3}, "0 1 2 3 4 5"},
    {"NhwcToNchw", {1, 2, 3}, {3, 1, 2}, "0 3 1 4 2 5"},
    {"NchwToNhwc", {3, 1, 2}, {1, 2, 3}, "0 2 4 1 3 5"},
    {"PlaneToNhwc", {1, 2}, {1, 2, 1}, "0 1"},
    {"PlaneToNchw", {1, 2}, {1, 1, 2}, "0 1"},
    {"OneChannelNchwToNhwc", {1, 2, 3}, {2, 3, 1}, "0 1 2 3 4 5"},
    {"Flattened", {1, 2, 3}, {6}, "0 1 2 3 4 5"},
    {"Unflattened", {6}, {1, 2, 3}, "0 1 2 3 4 5"},
    {"OtherSize", {1, 2, 3}, {1, 2, 4}, "DATA_SHAPE"},
    {"OtherFlatSize", {6}, {1, 2, 4}, "DATA_SHAPE"},
    {"TurnedPictureIsNotALayout", {4, 1, 1}, {1, 4, 2}, "DATA_SHAPE"},
    {"HeightAndWidthSwapped", {2, 1, 5}, {1, 2, 5}, "DATA_SHAPE"},
    {"ExplicitLayoutExcludes",
     {1, 2, 3},
     {3, 1, 2},
     "DATA_LAYOUT",
     Transform::NCHW},
    {"NhwcIsNoNchwNetworksOwnShape",
     {1, 2, 3},
     {1, 2, 3},
     "DATA_LAYOUT",
     Transform::NHWC,
     Transform::CHANNEL_ORDER_UNSPECIFIED,
     true},
    {"NchwIsNchwNetworksOwnShape",
     {1, 2, 3},
     {1, 2, 3},
     "0 1 2 3 4 5",
     Transform::NCHW,
     Transform::CHANNEL_ORDER_UNSPECIFIED,
     true},
    {"NchwIsNoNhwcNetworksOwnShape",
     {2, 3, 1},
     {2, 3, 1},
     "DATA_LAYOUT",
     Transform::NCHW,
     Transform::CHANNEL_ORDER_UNSPECIFIED,
     false,
     true},
    {"UnknownNetworkTakesEither",
     {2, 3, 1},
     {2, 3, 1},
     "0 1 2 3 4 5",
     Transform::NCHW},
    {"OnePixelHasNoLayout",
     {1, 1, 1},
     {1, 1, 1},
     "0",
     Transform::NHWC,
     Transform::CHANNEL_ORDER_UNSPECIFIED,
     true},
    {"ExplicitLayoutAgrees",
     {1, 2, 3},
     {3, 1, 2},
     "0 3 1 4 2 5",
     Transform::NHWC},
    {"CubeIsTakenAsStored", {2, 2, 2}, {2, 2, 2}, "0 1 2 3 4 5 6 7"},
    {"CubeOfAnNchwNetwork",
     {2, 2, 2},
     {2, 2, 2},
     "0 1 2 3 4 5 6 7",
     Transform::LAYOUT_UNSPECIFIED,
     Transform::CHANNEL_ORDER_UNSPECIFIED,
     true},
    {"BatchOfOne", {1, 1, 2, 3}, {1, 2, 3}, "0 1 2 3 4 5"},
    {"BatchOfOneAndTurned", {1, 1, 2, 3}, {3, 1, 2}, "0 3 1 4 2 5"},
    {"BatchOfTwoIsAnotherShape", {2, 1, 2, 3}, {1, 2, 3}, "DATA_SHAPE"},
    {"NoElements", {0, 2, 3}, {0, 2, 3}, ""},
    {"NoElementsTurned", {2, 3, 0}, {0, 2, 3}, ""},
    {"CubeNhwc", {2, 2, 2}, {2, 2, 2}, "0 1 2 3 4 5 6 7", Transform::NHWC},
    {"CubeNchwToNhwc",
     {2, 2, 2},
     {2, 2, 2},
     "0 4 1 5 2 6 3 7",
     Transform::NCHW},
    {"CubeNchw",
     {2, 2, 2},
     {2, 2, 2},
     "0 1 2 3 4 5 6 7",
     Transform::NCHW,
     Transform::CHANNEL_ORDER_UNSPECIFIED,
     true},
    {"CubeNhwcToNchw",
     {2, 2, 2},
     {2, 2, 2},
     "0 2 4 6 1 3 5 7",
     Transform::NHWC,
     Transform::CHANNEL_ORDER_UNSPECIFIED,
     true},
    {"UnitCubeIsNot", {1, 1, 1}, {1, 1, 1}, "0"},
    {"BgrLast",
     {1, 2, 3},
     {1, 2, 3},
     "2 1 0 5 4 3",
     Transform::LAYOUT_UNSPECIFIED,
     Transform::BGR},
    {"BgrFirst",
     {3, 1, 2},
     {3, 1, 2},
     "4 5 2 3 0 1",
     Transform::LAYOUT_UNSPECIFIED,
     Transform::BGR},
    {"BgrAndTurned",
     {1, 2, 3},
     {3, 1, 2},
     "2 5 1 4 0 3",
     Transform::LAYOUT_UNSPECIFIED,
     Transform::BGR},
    {"RgbIsAsStored",
     {1, 2, 3},
     {1, 2, 3},
     "0 1 2 3 4 5",
     Transform::LAYOUT_UNSPECIFIED,
     Transform::RGB},
    {"BgrAmbiguous",
     {3, 1, 3},
     {3, 1, 3},
     "DATA_LAYOUT_AMBIGUOUS",
     Transform::LAYOUT_UNSPECIFIED,
     Transform::BGR},
    {"BgrOfAnNchwNetwork",
     {3, 1, 3},
     {3, 1, 3},
     "6 7 8 3 4 5 0 1 2",
     Transform::LAYOUT_UNSPECIFIED,
     Transform::BGR,
     true},
    {"BgrOfAnNhwcNetwork",
     {3, 1, 3},
     {3, 1, 3},
     "2 1 0 5 4 3 8 7 6",
     Transform::LAYOUT_UNSPECIFIED,
     Transform::BGR,
     false,
     true},
    {"BgrWithLayout",
     {3, 1, 3},
     {3, 1, 3},
     "2 1 0 5 4 3 8 7 6",
     Transform::NHWC,
     Transform::BGR},
    {"BgrOfOneChannel",
     {2, 2, 1},
     {2, 2, 1},
     "DATA_CHANNELS",
     Transform::LAYOUT_UNSPECIFIED,
     Transform::BGR},
};
INSTANTIATE_TEST_SUITE_P(All, SampleLayoutTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(SampleLayoutTest, ShapeErrorNamesBothShapes) {
  LayoutQuestion question;
  question.input = "in";
  question.stored_shape = {28, 28, 1};
  question.network_shape = {32, 32, 3};
  const auto layout = ResolveLayout(question);
  EXPECT_NE(layout.status().message().find("28x28x1"), absl::string_view::npos);
  EXPECT_NE(layout.status().message().find("32x32x3"), absl::string_view::npos);
}

TEST(SampleLayoutTest, LayoutErrorNamesBothShapes) {
  LayoutQuestion question;
  question.input = "in";
  question.stored_shape = {3, 28, 30};
  question.network_shape = {28, 30, 3};
  question.layout = Transform::NHWC;
  const std::string message(ResolveLayout(question).status().message());
  EXPECT_NE(message.find("3x28x30"), std::string::npos) << message;
  EXPECT_NE(message.find("28x30x3"), std::string::npos) << message;
  EXPECT_NE(message.find("'in'"), std::string::npos) << message;
}

TEST(SampleLayoutTest, FixesAreWholeOptions) {
  const struct {
    std::string stored;
    Transform given;
    std::vector<int64_t> network;
    std::string want;
  } cases[] = {
      {"bgr of 3x1x3",
       [] {
         Transform t;
         t.set_order(Transform::BGR);
         t.add_scale(0.5);
         return t;
       }(),
       {3, 1, 3},
       "replace --input 'scale=0.5,order=bgr' by --input "
       "'in:scale=0.5,order=bgr,layout=nhwc', or layout=nchw"},
      {"layout against shapes",
       [] {
         Transform t;
         t.set_input("in");
         t.add_offset(-1);
         t.set_layout(Transform::NHWC);
         return t;
       }(),
       {1, 3, 3},
       "replace --input 'in:offset=-1,layout=nhwc' by --input 'in:offset=-1': "
       "these shapes tell it"},
      {"layout alone",
       [] {
         Transform t;
         t.set_layout(Transform::NHWC);
         return t;
       }(),
       {1, 3, 3},
       "leave out --input 'layout=nhwc': these shapes tell it"},
  };
  for (const auto& c : cases) {
    LayoutQuestion question;
    question.input = "in";
    question.stored_shape = {3, 1, 3};
    question.network_shape = c.network;
    question.layout = c.given.layout();
    question.order = c.given.order();
    question.given = &c.given;
    const auto layout = ResolveLayout(question);
    EXPECT_EQ(GetErrorDetail(layout.status()).value_or(ErrorDetail{}).fix,
              c.want)
        << c.stored;
  }
}

TEST(SampleLayoutTest, FactorsOfTheDataFollowTheStoredChannel) {
  LayoutQuestion question;
  question.stored_shape = {1, 1, 3};
  question.network_shape = {3, 1, 1};
  question.order = Transform::BGR;
  question.stored_factors = 3;
  question.network_factors = 3;
  const auto layout = ResolveLayout(question);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(layout->source, (std::vector<int64_t>{2, 1, 0}));
  EXPECT_EQ(layout->stored_channel, (std::vector<int32_t>{2, 1, 0}));
  EXPECT_EQ(layout->network_channel, (std::vector<int32_t>{0, 1, 2}));
}

TEST(SampleShapeTest, DropsTheBatch) {
  v1::TensorType type;
  for (const int extent : {1, 4, 5}) type.add_shape(extent);
  EXPECT_EQ(SampleShape(type), (std::vector<int64_t>{4, 5}));
  type.set_shape(0, 2);
  EXPECT_EQ(SampleShape(type), (std::vector<int64_t>{2, 4, 5}));
  v1::TensorType vector;
  vector.add_shape(1);
  EXPECT_EQ(SampleShape(vector), (std::vector<int64_t>{1}));
}

}  // namespace
}  // namespace edgekiln::compiler
