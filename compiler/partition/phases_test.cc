#include "compiler/partition/phases.h"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/rng.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/undo_phases.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// Sizes of one axis.
struct Sizes {
  int64_t image, kernel, stride, before, behind;
  int64_t out() const {
    return (image + before + behind - kernel) / stride + 1;
  }
};

std::string Values(int64_t count) {
  Rng rng(7);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(rng.InRange(-9, 9));
  return absl::StrCat("[", absl::StrJoin(values, ", "), "]");
}

constexpr int64_t kIn = 3;
constexpr int64_t kOut = 2;

// A convolution whose weights have zero points of their own, by channel.
std::string Conv(const Sizes& h, const Sizes& w) {
  return absl::StrCat(
      "%x : int8[1,", h.image, ",", w.image, ",", kIn,
      "] scale 0.5 zero 3 = input\n%w : int8[", kOut, ",", h.kernel, ",",
      w.kernel, ",", kIn, "] axis 0 scale [0.25, 0.5] zero [5, -3] = constant ",
      Values(kOut * h.kernel * w.kernel * kIn), "\n%y : int8[1,", h.out(), ",",
      w.out(), ",", kOut,
      "] scale 4 zero 1 = conv2d(%x, %w) {window {stride_h ", h.stride,
      " stride_w ", w.stride, " dilation_h 1 dilation_w 1 pad_top ", h.before,
      " pad_bottom ", h.behind, " pad_left ", w.before, " pad_right ", w.behind,
      "}} id y\nreturn %y\n");
}

v1::Capabilities Engine(const std::string& pattern) {
  v1::Capabilities capabilities;
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
      absl::StrCat(
          "engines { name: 'e' patterns { ", pattern,
          " numerics { activations: INT8 weights: INT8 roundings: HALF_UP "
          "requantization: MULTIPLIER_AND_SHIFT accumulator_bits: 32 "
          "per_channel: true activation_zero_points: true "
          "weight_zero_points: true } } }"),
      &capabilities));
  return capabilities;
}

constexpr char kStrideOne[] =
    "ops: 'conv2d' where { expr: 'stride_h * stride_w == 1' need: 'stride 1' }";

std::string Input(const Sizes& h, const Sizes& w) {
  Rng rng(3);
  std::string input;
  for (int64_t i = 0; i < h.image * w.image * kIn; ++i) {
    input.push_back(static_cast<char>(rng.InRange(-128, 127)));
  }
  return input;
}

// Without its phases again, `phased` is the convolution of `graph`, but for
// zeros at the end of the kernel.
void ExpectUndone(const Graph& phased, const Graph& graph,
                  const std::vector<TensorId>& rearranged,
                  const std::string& input,
                  const std::vector<std::string>& want) {
  const auto op = static_cast<int32_t>(phased.ops.size()) - 1;
  const auto whole =
      WithoutPhases(phased, TensorLinks(phased), op, rearranged, nullptr);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(std::ssize(whole->rearranging), op);
  Graph undone = phased;
  Op conv = phased.ops.back();
  conv.attributes = whole->attributes;
  conv.inputs[0] = whole->image;
  undone.tensors[conv.inputs[1]] = whole->kernel;
  undone.ops = {conv};
  const absl::Status verified = VerifyGraph(undone);
  ASSERT_TRUE(verified.ok()) << verified;
  const auto got = Evaluate(undone, {input});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, want);
  const std::vector<int64_t>& kernel =
      graph.tensors[graph.ops[0].inputs[1]].shape;
  EXPECT_LE(whole->kernel.shape[1], kernel[1]);
  EXPECT_LE(whole->kernel.shape[2], kernel[2]);
  EXPECT_EQ(whole->kernel.shape[3], kernel[3]);
}

// All small convolutions: each is on the engine and computes the same, or
// leaves pixels of the image unread.
TEST(PhasesTest, AllSmallConvolutionsComputeTheSame) {
  const v1::Capabilities engine =
      Engine(absl::StrCat(kStrideOne, " phases_expr: '1'"));
  const Sizes w = {4, 2, 2, 1, 1};
  int rewritten = 0;
  for (int64_t image = 1; image <= 6; ++image) {
    for (int64_t kernel = 1; kernel <= 4; ++kernel) {
      for (int64_t stride = 1; stride <= 3; ++stride) {
        for (int64_t before = 0; before < 3; ++before) {
          for (int64_t behind = 0; behind < 3; ++behind) {
            const Sizes h = {image, kernel, stride, before, behind};
            if (image + before + behind < kernel) continue;
            const std::string text = Conv(h, w);
            SCOPED_TRACE(text);
            const auto graph = ParseGraph(text);
            ASSERT_TRUE(graph.ok()) << graph.status();
            Graph phased = *graph;
            const auto phases = UsePhases(phased, engine);
            ASSERT_TRUE(phases.ok()) << phases.status();
            ASSERT_EQ(phases->origin.size(), phased.ops.size());
            ASSERT_EQ(phases->notes.size(), phased.ops.size());
            if (phased.ops.size() == 1) {
              const int64_t read = (h.out() - 1) * stride + kernel;
              EXPECT_LT(read, before + image);
              EXPECT_EQ(PrintGraph(phased), PrintGraph(*graph));
              continue;
            }
            ++rewritten;
            const absl::Status verified = VerifyGraph(phased);
            ASSERT_TRUE(verified.ok()) << verified;
            const auto want = Evaluate(*graph, {Input(h, w)});
            const auto got = Evaluate(phased, {Input(h, w)});
            ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
            EXPECT_EQ(*got, *want);
            const auto engines = EnginesOf(*graph, engine);
            ASSERT_TRUE(engines.ok()) << engines.status();
            EXPECT_EQ(*engines, std::vector<int32_t>{0});
            ExpectUndone(phased, *graph, phases->rearranged, Input(h, w),
                         *want);
          }
        }
      }
    }
  }
  EXPECT_GT(rewritten, 400);
}

// 27 products of weights up to 14 and values from 0 to 12; without limits, from
// -131 to 124.
TEST(PhasesTest, LimitsOfTheImageCountForNarrowAccumulators) {
  v1::Capabilities engine =
      Engine(absl::StrCat(kStrideOne, " phases_expr: '1'"));
  engine.mutable_engines(0)
      ->mutable_patterns(0)
      ->mutable_numerics()
      ->set_accumulator_bits(14);
  const std::string plain = Conv({7, 3, 2, 1, 1}, {7, 3, 2, 1, 1});
  const std::string limited = absl::StrReplaceAll(
      plain, {{"conv2d(%x", "conv2d(%c"},
              {"%w :",
               "%c : int8[1,7,7,3] scale 0.5 zero 3 = clip(%x) {clamp {min 0 "
               "max 6}} id c\n%w :"}});
  const auto graph = ParseGraph(limited);
  const auto without = ParseGraph(plain);
  ASSERT_TRUE(graph.ok() && without.ok()) << graph.status();
  const auto engines = EnginesOf(*graph, engine);
  ASSERT_TRUE(engines.ok()) << engines.status();
  EXPECT_EQ(*engines, (std::vector<int32_t>{-1, 0}));
  EXPECT_EQ(*EnginesOf(*without, engine), std::vector<int32_t>{-1});
}

TEST(PhasesTest, AreFoundInReasons) {
  EXPECT_EQ(PhasesIn("e runs conv2d on the 4 phases of its image with more"),
            " on the 4 phases of its image");
  EXPECT_EQ(PhasesIn("e runs conv2d on the host"), "");
  EXPECT_EQ(PhasesIn(""), "");
}

TEST(PhasesTest, ReportsSayWhatWasDone) {
  // The first layer of DS-CNN, of two channels.
  const Sizes h = {49, 10, 2, 4, 5};
  const Sizes w = {10, 4, 2, 1, 1};
  const auto graph = ParseGraph(Conv(h, w));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto partition = PartitionGraph(
      *graph, Engine(absl::StrCat(
                  "most_kernel_padding: 1 ", kStrideOne,
                  " where { expr: 'kernel_w == 3' need: 'three columns' }"
                  " phases_expr: 'macs > 1000'")));
  ASSERT_TRUE(partition.ok()) << partition.status();
  ASSERT_EQ(partition->placements_size(), 5);
  EXPECT_EQ(partition->placements(4).engine(), 0);
  EXPECT_EQ(partition->placements(4).reason(),
            "e runs conv2d on the 4 phases of its image with its kernel padded "
            "with zeros (of 5 x 2 to 5 x 3)");
  EXPECT_EQ(partition->graph().ops(0).id(), "y.phases.pad");
  EXPECT_EQ(partition->placements(0).engine(), -1);
  EXPECT_EQ(partition->placements(0).reason(),
            "no engine of this target has pad; rearranges the image of a layer "
            "(y)");
  EXPECT_EQ(partition->rearranged_size(), 4);
  for (const int32_t tensor : partition->rearranged()) {
    EXPECT_GE(tensor, std::ssize(graph->tensors));
  }
}

// A user's op may have any name: what is rearranged is known by its tensors.
TEST(PhasesTest, OpsOfTheUserStayWhateverTheirNames) {
  const auto graph = ParseGraph(absl::StrCat(
      "%x : int8[1,6,6,1] scale 0.5 zero 3 = input\n"
      "%p : int8[1,8,8,1] scale 0.5 zero 3 = pad(%x) {before [0, 1, 1, 0] "
      "after [0, 1, 1, 0] value 4} id y.phases.pad\n"
      "%w : int8[2,2,2,1] scale 0.25 zero 0 = constant ",
      Values(8),
      "\n%y : int8[1,4,4,2] scale 4 zero 1 = conv2d(%p, %w) {window {stride_h "
      "2 stride_w 2 dilation_h 1 dilation_w 1}} id y\nreturn %y\n"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  Graph phased = *graph;
  const auto phases =
      UsePhases(phased, Engine(absl::StrCat(kStrideOne, " phases_expr: '1'")));
  ASSERT_TRUE(phases.ok()) << phases.status();
  ASSERT_EQ(phased.ops.size(), 5u);
  EXPECT_EQ(phased.ops[0].id, "y.phases.pad");
  const auto whole = WithoutPhases(phased, TensorLinks(phased), 4,
                                   phases->rearranged, nullptr);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->image, phased.ops[0].outputs[0]);
  EXPECT_EQ(whole->rearranging, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(whole->attributes.conv2d().window().pad_top(), 0);
}

struct Case {
  const char* name;
  std::string pattern;
  bool rewritten;
};

void PrintTo(const Case& row, std::ostream* out) { *out << row.name; }

class PhasesUseTest : public testing::TestWithParam<Case> {};

TEST_P(PhasesUseTest, OnlyWhereThePatternSays) {
  const auto graph = ParseGraph(Conv({7, 3, 2, 1, 1}, {7, 3, 2, 1, 1}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  Graph phased = *graph;
  const auto phases = UsePhases(phased, Engine(GetParam().pattern));
  ASSERT_TRUE(phases.ok()) << phases.status();
  EXPECT_EQ(phases->rearranged.empty(), !GetParam().rewritten);
  EXPECT_EQ(phased.ops.size() > 1, GetParam().rewritten);
}

INSTANTIATE_TEST_SUITE_P(
    All, PhasesUseTest,
    testing::Values(
        Case{"Nowhere", kStrideOne, false},
        Case{"ThatOp",
             absl::StrCat(kStrideOne, " phases_expr: 'macs == 1 * ",
                          4 * 4 * kOut * 9 * kIn, "'"),
             true},
        Case{"AnotherOp", absl::StrCat(kStrideOne, " phases_expr: 'macs == 1'"),
             false},
        Case{"TakenAsItIs", "ops: 'conv2d' phases_expr: '1'", false},
        Case{"NotTakenSo",
             absl::StrCat(kStrideOne,
                          " where { expr: 'kernel_h == 3' need: 'three' }"
                          " phases_expr: '1'"),
             false},
        Case{"Overflow",
             absl::StrCat(kStrideOne,
                          " phases_expr: '9223372036854775807 + macs'"),
             false}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace edgekiln::compiler
