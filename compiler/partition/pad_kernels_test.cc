#include "compiler/partition/pad_kernels.h"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/rng.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "compiler/partition/partition.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

std::string Window(const std::string& pads) {
  return absl::StrCat(
      "{window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1", pads, "}}");
}

// `count` constants.
std::string Values(int64_t count) {
  Rng rng(7);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(rng.InRange(-9, 9));
  return absl::StrCat("[", absl::StrJoin(values, ", "), "]");
}

// 2 x 4 taps over an image of 5 x 6 with 2 channels.
std::string Conv() {
  return absl::StrCat(
      "%x : int8[1,5,6,2] scale 0.5 zero 3 = input\n"
      "%w : int8[3,2,4,2] scale 0.25 zero 0 = constant ",
      Values(48), "\n%y : int8[1,4,5,3] scale 4 zero 1 = conv2d(%x, %w) ",
      Window(" pad_left 1 pad_right 1"), " id y\nreturn %y\n");
}

// The same taps for each of 2 channels; their zero is 5.
std::string Depthwise() {
  return absl::StrCat(
      "%x : int8[1,5,6,2] scale 0.5 zero 3 = input\n"
      "%w : int8[1,2,4,2] scale 0.25 zero 5 = constant ",
      Values(16),
      "\n%y : int8[1,4,5,2] scale 4 zero 1 = depthwise_conv2d(%x, %w) "
      "{depth_multiplier 1 window {stride_h 1 stride_w 1 dilation_h 1 "
      "dilation_w 1 pad_left 1 pad_right 1}} id y\nreturn %y\n");
}

v1::Capabilities Engine(const std::string& pattern) {
  v1::Capabilities capabilities;
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
      absl::StrCat(
          "engines { name: 'e' patterns { ", pattern,
          " numerics { activations: INT8 weights: INT8 roundings: HALF_UP "
          "requantization: MULTIPLIER_AND_SHIFT accumulator_bits: 32 "
          "activation_zero_points: true weight_zero_points: true } } }"),
      &capabilities));
  return capabilities;
}

constexpr char kOdd[] =
    "where { expr: '(kernel_h == 1) + (kernel_h == 3)' need: 'rows' } "
    "where { expr: '(kernel_w == 1) + (kernel_w == 5)' need: 'columns' } ";

struct Case {
  const char* name;
  const char* op;
  std::string pattern;  // Behind its ops.
  std::string why;      // "": not padded.
  const char* window;   // What is in the window of the padded op.
};

void PrintTo(const Case& row, std::ostream* out) { *out << row.name; }

class PadKernelsTest : public testing::TestWithParam<Case> {};

TEST_P(PadKernelsTest, ComputesTheSame) {
  const Case& row = GetParam();
  const bool depthwise = std::string(row.op) == "depthwise_conv2d";
  const auto graph = ParseGraph(depthwise ? Depthwise() : Conv());
  ASSERT_TRUE(graph.ok()) << graph.status();
  const v1::Capabilities engine =
      Engine(absl::StrCat("ops: '", row.op, "' ", row.pattern));
  Graph padded = *graph;
  const auto why = PadKernels(padded, engine);
  ASSERT_TRUE(why.ok()) << why.status();
  ASSERT_EQ(why->size(), 1);
  EXPECT_EQ((*why)[0], row.why);
  const absl::Status verified = VerifyGraph(padded);
  ASSERT_TRUE(verified.ok()) << verified;
  if (row.why.empty()) {
    EXPECT_EQ(PrintGraph(padded), PrintGraph(*graph));
  } else {
    EXPECT_TRUE(absl::StrContains(PrintGraph(padded), row.window))
        << PrintGraph(padded);
  }
  std::string input;
  Rng rng(3);
  for (int i = 0; i < 60; ++i) {
    input.push_back(static_cast<char>(rng.InRange(-128, 127)));
  }
  const auto want = Evaluate(*graph, {input});
  const auto got = Evaluate(padded, {input});
  ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
  EXPECT_EQ(*got, *want);

  const auto partition = PartitionGraph(*graph, engine);
  ASSERT_TRUE(partition.ok()) << partition.status();
  EXPECT_EQ(partition->placements(0).engine(), row.why.empty() ? -1 : 0);
  if (!row.why.empty()) {
    EXPECT_TRUE(absl::EndsWith(partition->placements(0).reason(), row.why))
        << partition->placements(0).reason();
  }
  const auto engines = EnginesOf(*graph, engine);
  ASSERT_TRUE(engines.ok()) << engines.status();
  EXPECT_EQ((*engines)[0], partition->placements(0).engine());
}

constexpr char kToThreeByFive[] =
    " with its kernel padded with zeros (of 2 x 4 to 3 x 5)";

INSTANTIATE_TEST_SUITE_P(
    All, PadKernelsTest,
    testing::Values(
        Case{"Behind", "conv2d", absl::StrCat("most_kernel_padding: 1 ", kOdd),
             kToThreeByFive, "pad_bottom 1 pad_left 1 pad_right 2"},
        // As many columns of padding before as behind.
        Case{"InFront", "conv2d",
             absl::StrCat("most_kernel_padding: 1 ", kOdd,
                          "where { expr: 'pad_right <= 1' need: 'a' } "),
             kToThreeByFive, "pad_bottom 1 pad_left 2 pad_right 1"},
        Case{"Depthwise", "depthwise_conv2d",
             absl::StrCat("most_kernel_padding: 1 ", kOdd), kToThreeByFive,
             "pad_bottom 1 pad_left 1 pad_right 2"},
        Case{"NotAllowed", "conv2d", kOdd, "", ""},
        Case{"TooFew", "conv2d",
             absl::StrCat("most_kernel_padding: 1 where { expr: 'kernel_h == "
                          "4' need: 'rows' } "),
             "", ""},
        Case{"TheFewestTaps", "conv2d",
             absl::StrCat("most_kernel_padding: 4 where { expr: 'kernel_h * "
                          "kernel_w >= 12' need: 'taps' } "),
             " with its kernel padded with zeros (of 2 x 4 to 3 x 4)",
             "pad_bottom 1"}),
    [](const auto& info) { return info.param.name; });

// Two convolutions with the same weights; the second one reads 4 rows.
Graph WithSharedWeights() {
  const auto graph = ParseGraph(absl::StrCat(
      "%x : int8[1,5,6,2] scale 0.5 zero 3 = input\n"
      "%w : int8[2,2,4,2] scale 0.25 zero 0 = constant ",
      Values(32), "\n%y : int8[1,4,5,2] scale 4 zero 1 = conv2d(%x, %w) ",
      Window(" pad_left 1 pad_right 1"),
      " id y\n%z : int8[1,3,2,2] scale 9 zero 1 = conv2d(%y, %w) ", Window(""),
      " id z\nreturn %z, %y\n"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *graph;
}

// Pads a copy for the engine, and checks that it computes the same.
Graph Padded(const Graph& graph, const v1::Capabilities& engine,
             const std::vector<std::string>& why) {
  Graph padded = graph;
  const auto done = PadKernels(padded, engine);
  EXPECT_TRUE(done.ok()) << done.status();
  if (!done.ok()) return graph;
  EXPECT_EQ(*done, why);
  const absl::Status verified = VerifyGraph(padded);
  EXPECT_TRUE(verified.ok()) << verified;
  if (!verified.ok()) return graph;
  const std::string input(60, '\x2a');
  EXPECT_EQ(*Evaluate(padded, {input}), *Evaluate(graph, {input}));
  return padded;
}

TEST(PadKernelsTest, OpsThatShareWeightsShareThePadded) {
  const Graph graph = WithSharedWeights();
  const Graph padded = Padded(
      graph,
      Engine(absl::StrCat("ops: 'conv2d' most_kernel_padding: 1 ", kOdd)),
      {kToThreeByFive, kToThreeByFive});
  EXPECT_EQ(padded.ops[0].inputs[1], padded.ops[1].inputs[1]);
  // Nothing else reads the weights: they are replaced.
  EXPECT_EQ(padded.tensors.size(), graph.tensors.size());
}

TEST(PadKernelsTest, SharedWeightsArePaddedInSeveralWays) {
  const Graph graph = WithSharedWeights();
  const Graph several = Padded(
      graph,
      Engine(
          "ops: 'conv2d' most_kernel_padding: 1 where { expr: '(kernel_h == 3) "
          "* (kernel_w == in_h)' need: 'a' } "),
      {kToThreeByFive,
       " with its kernel padded with zeros (of 2 x 4 to 3 x 4)"});
  EXPECT_NE(several.ops[0].inputs[1], several.ops[1].inputs[1]);
  EXPECT_EQ(several.tensors.size(), graph.tensors.size() + 1);
  // One as it is.
  const Graph one = Padded(
      graph,
      Engine("ops: 'conv2d' most_kernel_padding: 1 where { expr: 'kernel_h + "
             "in_h != 7' need: 'a' } "),
      {" with its kernel padded with zeros (of 2 x 4 to 3 x 4)", ""});
  EXPECT_EQ(one.ops[1].inputs, graph.ops[1].inputs);
  EXPECT_EQ(one.tensors.size(), graph.tensors.size() + 1);
}

// Each pattern allows padding of its own.
TEST(PadKernelsTest, TheTakersLimitCounts) {
  const Graph graph = *ParseGraph(Conv());
  const std::string odd = absl::StrCat("ops: 'conv2d' ", kOdd);
  const std::string large =
      "ops: 'conv2d' most_kernel_padding: 1 where { expr: 'kernel_h == 7' "
      "need: 'rows' } ";
  // One engine would take the padded kernel and allows none; the other one
  // allows it and would not take it.
  v1::Capabilities two = Engine(odd);
  two.MergeFrom(Engine(large));
  EXPECT_EQ(PrintGraph(Padded(graph, two, {""})), PrintGraph(graph));
  // The first engine would take more rows than it allows.
  two = Engine(absl::StrCat("most_kernel_padding: 1 ",
                            "ops: 'conv2d' where { expr: 'kernel_h == 4' need: "
                            "'rows' } "));
  two.MergeFrom(Engine(absl::StrCat("most_kernel_padding: 2 ", odd)));
  Padded(graph, two, {kToThreeByFive});
  // Of one engine: 3 x 4 would be fewer taps.
  v1::Capabilities one = Engine(
      "ops: 'conv2d' where { expr: '(kernel_h == 3) * (kernel_w == 4)' need: "
      "'a' "
      "} ");
  *one.mutable_engines(0)->add_patterns() =
      Engine(absl::StrCat("most_kernel_padding: 1 ", odd))
          .engines(0)
          .patterns(0);
  Padded(graph, one, {kToThreeByFive});
}

// Zeros are values, too.
TEST(PadKernelsTest, ZerosLieInTheRangeOfWeights) {
  for (const int zero : {0, 5}) {
    const auto graph = ParseGraph(absl::StrCat(
        "%x : int8[1,5,6,2] scale 0.5 zero 3 = input\n"
        "%w : int8[1,2,1,2] scale 0.25 zero ",
        zero,
        " = constant [1, -1, 0, 1]\n"
        "%y : int8[1,4,6,2] scale 4 zero 1 = depthwise_conv2d(%x, %w) "
        "{depth_multiplier 1 window {stride_h 1 stride_w 1 dilation_h 1 "
        "dilation_w 1}} id y\nreturn %y\n"));
    ASSERT_TRUE(graph.ok()) << graph.status();
    v1::Capabilities ternary = Engine(
        absl::StrCat("ops: 'depthwise_conv2d' most_kernel_padding: 1 ", kOdd));
    ternary.mutable_engines(0)
        ->mutable_patterns(0)
        ->mutable_numerics()
        ->set_weight_values(v1::WEIGHTS_TERNARY);
    Padded(*graph, ternary,
           {zero == 0 ? " with its kernel padded with zeros (of 2 x 1 to 3 x 1)"
                      : ""});
  }
}

TEST(PadKernelsTest, PaddingThatDoesNotFitIsLeftOut) {
  const auto graph = ParseGraph(
      "%x : int8[1,5,6,2] scale 0.5 zero 3 = input\n"
      "%w : int8[1,1,1,2] scale 0.25 zero 0 = constant [1, 2]\n"
      "%y : int8[1,5,6,1] scale 4 zero 1 = conv2d(%x, %w) {window {stride_h 1 "
      "stride_w 1 dilation_h 2147483647 dilation_w 1}} id y\nreturn %y\n");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const v1::Capabilities engine = Engine(
      "ops: 'conv2d' most_kernel_padding: 2 where { expr: 'kernel_h + kernel_w "
      "> 2' need: 'taps' } ");
  const Graph padded =
      Padded(*graph, engine,
             {" with its kernel padded with zeros (of 1 x 1 to 1 x 2)"});
  EXPECT_EQ(padded.ops[0].attributes.conv2d().window().pad_bottom(), 0);
  const v1::Capabilities rows = Engine(
      "ops: 'conv2d' most_kernel_padding: 2 where { expr: 'kernel_h == 3' "
      "need: "
      "'rows' } ");
  EXPECT_EQ(PrintGraph(Padded(*graph, rows, {""})), PrintGraph(*graph));
}

// Kernels of 1 MiB, padded to 49 each.
TEST(PadKernelsTest, PaddedKernelsAreBounded) {
  const std::string one = "int8[1,1,1,1] scale 1 zero 0 = ";
  const auto parsed = ParseGraph(absl::StrCat(
      "%x : ", one, "input\n%v : ", one, "constant [1]\n%w : ", one,
      "constant [1]\n%y : ", one, "conv2d(%x, %v) ", Window(""), " id y\n%z : ",
      one, "conv2d(%y, %w) ", Window(""), " id z\nreturn %z\n"));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  Graph graph = *parsed;
  for (Tensor& tensor : graph.tensors) {
    tensor.shape.back() = 1024;
    if (!tensor.is_constant()) continue;
    tensor.shape[0] = 1024;
    tensor.data = ConstantData(std::string(1 << 20, '\1'));
  }
  ASSERT_TRUE(VerifyGraph(graph).ok());
  const v1::Capabilities engine = Engine(
      "ops: 'conv2d' most_kernel_padding: 8 where { expr: '(kernel_h == 7) * "
      "(kernel_w == 7)' need: 'taps' } ");
  const std::string why =
      " with its kernel padded with zeros (of 1 x 1 to 7 x 7)";
  Graph padded = graph;
  EXPECT_EQ(*PadKernels(padded, engine), (std::vector<std::string>{why, ""}));
  // Both read one.
  graph.ops[1].inputs[1] = graph.ops[0].inputs[1];
  EXPECT_EQ(*PadKernels(graph, engine), (std::vector<std::string>{why, why}));
}

// Only where the image has padding to take off, too.
TEST(PadKernelsTest, ZerosAreTakenOff) {
  const auto unpadded_shape = [](const std::string& values,
                                 const std::string& pads) {
    const auto graph = ParseGraph(absl::StrCat(
        "%x : int8[1,5,5,1] scale 0.5 zero 3 = input\n"
        "%w : int8[1,3,3,1] scale 0.25 zero 2 = constant ",
        values, "\n%y : int8[1,5,5,1] scale 4 zero 1 = conv2d(%x, %w) ",
        Window(pads), " id y\nreturn %y\n"));
    EXPECT_TRUE(graph.ok()) << graph.status();
    const auto unpadded = WithoutPadding(*graph, graph->ops[0]);
    if (!unpadded) return std::vector<int64_t>();
    Graph smaller = *graph;
    smaller.tensors[graph->ops[0].inputs[1]] = unpadded->kernel;
    smaller.ops[0].attributes = unpadded->attributes;
    EXPECT_TRUE(VerifyGraph(smaller).ok()) << VerifyGraph(smaller);
    const std::string input = "0123456789abcdefghijklmno";
    EXPECT_EQ(*Evaluate(smaller, {input}), *Evaluate(*graph, {input}));
    return unpadded->kernel.shape;
  };
  const std::string around = " pad_top 1 pad_bottom 1 pad_left 1 pad_right 1";
  using Shape = std::vector<int64_t>;
  EXPECT_EQ(unpadded_shape("[1, 2, 3, 4, 5, 6, 7, 8, 9]", around), Shape());
  EXPECT_EQ(unpadded_shape("[1, 2, 2, 4, 5, 2, 2, 2, 2]", around),
            (Shape{1, 2, 2, 1}));
  EXPECT_EQ(unpadded_shape("[2, 2, 2, 2, 5, 6, 2, 8, 9]", around),
            (Shape{1, 2, 2, 1}));
  EXPECT_EQ(unpadded_shape("[2, 2, 2, 2, 2, 2, 2, 2, 2]", around),
            (Shape{1, 1, 1, 1}));
  EXPECT_EQ(
      unpadded_shape("[1, 2, 2, 4, 5, 2, 2, 2, 2]", " pad_top 2 pad_left 2"),
      Shape());
}

TEST(PadKernelsTest, TheReasonSaysWhatWasDone) {
  EXPECT_EQ(
      PaddingIn(absl::StrCat("npu runs conv2d (a)", kToThreeByFive, "; b")),
      kToThreeByFive);
  EXPECT_EQ(PaddingIn("npu runs conv2d (a)"), "");
}

}  // namespace
}  // namespace edgekiln::compiler
