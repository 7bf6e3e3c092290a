#include "compiler/passes/product_sums.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/rng.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

Graph Parse(const std::string& text) {
  const auto graph = ParseGraph(absl::StrReplaceAll(
      text,
      {{"WINDOW", "window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}"},
       {" Q ", " scale 0.5 zero -3 "}}));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *graph;
}

TensorId Named(const Graph& graph, const std::string& name) {
  for (TensorId id = 0; id < std::ssize(graph.tensors); ++id) {
    if (graph.tensors[id].name == name) return id;
  }
  ADD_FAILURE() << name;
  return kNoTensor;
}

SumRange LessZero(const Graph& graph, const std::string& name) {
  ValueRanges ranges(graph);
  ranges.Update();
  return ranges.LessZero(Named(graph, name));
}

std::optional<SumRange> SumsOf(const Graph& graph, const Op& op) {
  ValueRanges ranges(graph);
  ranges.Update();
  return SumsOfProducts(graph, op, ranges);
}

TEST(ProductSumsTest, FitsInTwosComplement) {
  EXPECT_TRUE(Fits({-128, 127}, 8));
  EXPECT_FALSE(Fits({-129, 127}, 8));
  EXPECT_FALSE(Fits({-128, 128}, 8));
  EXPECT_TRUE(Fits({0, 0}, 1));
  EXPECT_TRUE(Fits({INT64_MIN, INT64_MAX}, 64));
}

TEST(ProductSumsTest, ExtremeInputsGiveExtremeSums) {
  const int8_t weights[] = {3, -2, 0, 5};
  EXPECT_EQ(SumOfProducts(weights, {-10, 7}),
            (SumRange{-10 * 8 - 7 * 2, 7 * 8 + 10 * 2}));
  EXPECT_EQ(SumOfProducts(weights, {0, 7}), (SumRange{-14, 56}));
  EXPECT_EQ(SumOfProducts({}, {-10, 7}), SumRange());
}

// 3 is -3 + 12 / 2; pools and reshapes make no other values.
TEST(ProductSumsTest, LimitsOfTheMakerCount) {
  const Graph graph = Parse(R"(
%x : int8[1,2,2,1] Q = input
%c : int8[1,2,2,1] Q = clip(%x) {clamp {min 0 max 6}} id c
%p : int8[1,1,1,1] Q = max_pool2d(%c) {kernel_h 2 kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id p
%r : int8[1,1] Q = reshape(%p) id r
%o : int8[1,1] scale 1 zero 0 = clip(%r) {clamp {max 1000}} id o
return %r, %o
)");
  EXPECT_EQ(LessZero(graph, "x"), (SumRange{-125, 130}));
  for (const char* name : {"c", "p", "r"}) {
    EXPECT_EQ(LessZero(graph, name), (SumRange{0, 12})) << name;
  }
  EXPECT_EQ(LessZero(graph, "o"), (SumRange{-128, 127}));
}

// Pads add 0, which sums have anyway, or values that are there.
TEST(ProductSumsTest, PadsPassLimitsOn) {
  const auto padded = [](const std::string& how) {
    const Graph graph = Parse(
        "%x : int8[1,2] Q = input\n"
        "%c : int8[1,2] Q = clip(%x) {clamp {min 1 max 6}} id c\n"
        "%p : int8[1,4] Q = pad(%c) {before [0, 1] after [0, 1] " +
        how + "} id p\nreturn %p\n");
    return LessZero(graph, "p");
  };
  EXPECT_EQ(padded(""), (SumRange{0, 12}));
  EXPECT_EQ(padded("value 60"), (SumRange{-125, 130}));
  EXPECT_EQ(padded("value -1"), (SumRange{-125, 130}));
  EXPECT_EQ(padded("mode EDGE"), (SumRange{0, 12}));
  EXPECT_EQ(padded("mode REFLECT"), (SumRange{0, 12}));
}

// Each op is looked at once: walks back from each tensor would take hours.
TEST(ProductSumsTest, LongChains) {
  constexpr int kOps = 20'000;
  Graph graph = Parse(
      "%x : int8[1,2] Q = input\n"
      "%y : int8[1,2] Q = clip(%x) {clamp {min 0 max 6}} id y\nreturn %y\n");
  ValueRanges ranges(graph);
  ranges.Update();
  const Tensor like = graph.tensors[graph.outputs[0]];
  for (int i = 0; i < kOps; ++i) {
    Op op;
    op.id = absl::StrCat("r", i);
    op.attributes.mutable_reshape();
    op.inputs = graph.ops.back().outputs;
    op.outputs = {static_cast<TensorId>(graph.tensors.size())};
    graph.tensors.push_back(like);
    graph.ops.push_back(std::move(op));
    ranges.Update();
    ASSERT_EQ(ranges.LessZero(graph.ops.back().outputs[0]), (SumRange{0, 12}));
  }
  ValueRanges at_once(graph);
  at_once.Update();
  for (const Op& op : graph.ops) {
    ASSERT_EQ(at_once.LessZero(op.outputs[0]), (SumRange{0, 12}));
    ASSERT_NE(at_once.FindLimits(op.outputs[0]), nullptr);
  }
  EXPECT_EQ(at_once.FindLimits(graph.inputs[0]), nullptr);
}

TEST(ProductSumsTest, NothingIsSaidOfDataThatIsNoWeights) {
  Graph graph = Parse(
      "%x : int8[1,2] Q = input\n"
      "%w : int8[2,2] scale 1 zero 0 = constant [5, 1, 2, 3]\n"
      "%y : int8[1,2] Q = fully_connected(%x, %w) id y\nreturn %y\n");
  ASSERT_TRUE(SumsOf(graph, graph.ops[0]).has_value());
  graph.tensors[Named(graph, "w")].data = ConstantData(std::string(3, '\1'));
  EXPECT_EQ(SumsOf(graph, graph.ops[0]), std::nullopt);
}

// The worst channel at either end.
TEST(ProductSumsTest, OfAnyChannel) {
  const std::string input = "%x : int8[1,1,1,2] scale 1 zero 28 = input\n";
  const auto sums = [&](const std::string& op) {
    const Graph graph = Parse(input + op + "return %y\n");
    return SumsOf(graph, graph.ops[0]);
  };
  // Inputs lie from -156 to 99.
  EXPECT_EQ(sums("%w : int8[2,1,1,2] scale 1 zero 0 = constant [1, 2, -1, -1]\n"
                 "%y : int8[1,1,1,2] Q = conv2d(%x, %w) {WINDOW} id y\n"),
            (SumRange{3 * -156, 2 * 156}));
  EXPECT_EQ(sums("%w : int8[1,1,1,2] scale 1 zero 0 = constant [5, -2]\n"
                 "%y : int8[1,1,1,2] Q = depthwise_conv2d(%x, %w) {WINDOW "
                 "depth_multiplier 1} id y\n"),
            (SumRange{5 * -156, 5 * 99}));
  // Less the zero point.
  EXPECT_EQ(sums("%v : int8[1,2] scale 1 zero 28 = reshape(%x) id v\n"
                 "%w : uint8[1,2] scale 1 zero 3 = constant [5, 0]\n"
                 "%y : int8[1,1] Q = fully_connected(%v, %w) id y\n"),
            std::nullopt);  // Of the reshape.
  const Graph dense =
      Parse(input +
            "%v : int8[1,2] scale 1 zero 28 = reshape(%x) id v\n"
            "%w : uint8[1,2] scale 1 zero 3 = constant [5, 0]\n"
            "%y : int8[1,1] Q = fully_connected(%v, %w) id y\nreturn %y\n");
  EXPECT_EQ(SumsOf(dense, dense.ops[1]),
            (SumRange{2 * -156 - 3 * 99, 2 * 99 + 3 * 156}));
}

// Int32 sums of random inputs lie within, and those of the worst inputs at the
// ends.
TEST(ProductSumsTest, AreReachedAndNotExceeded) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    const int zero = static_cast<int>(rng.InRange(-128, 127));
    std::string weights;
    for (int i = 0; i < 6; ++i) {
      absl::StrAppend(&weights, i > 0 ? ", " : "", rng.InRange(-127, 127));
    }
    const Graph graph = Parse(absl::StrCat(
        "%x : int8[1,6] scale 1 zero ", zero,
        " = input\n%w : int8[1,6] scale 1 zero 0 = constant [", weights,
        "]\n%y : int32[1,1] scale 1 zero 0 = fully_connected(%x, %w) id y\n"
        "return %y\n"));
    const auto range = SumsOf(graph, graph.ops[0]);
    ASSERT_TRUE(range.has_value());
    const auto interpreter = Interpreter::Create(graph);
    ASSERT_TRUE(interpreter.ok()) << interpreter.status();
    const auto sum = [&](const std::string& x) {
      EXPECT_TRUE((*interpreter)->Run({x}).ok());
      return *reinterpret_cast<const int32_t*>(
          (*interpreter)->value(graph.outputs[0]).data());
    };
    const absl::string_view w = *graph.tensors[Named(graph, "w")].data;
    std::string low;
    std::string high;
    std::string any;
    for (const char weight : w) {
      const bool positive = static_cast<int8_t>(weight) > 0;
      low.push_back(static_cast<char>(positive ? -128 : 127));
      high.push_back(static_cast<char>(positive ? 127 : -128));
      any.push_back(static_cast<char>(rng.InRange(-128, 127)));
    }
    EXPECT_EQ(sum(low), range->low);
    EXPECT_EQ(sum(high), range->high);
    EXPECT_GE(sum(any), range->low);
    EXPECT_LE(sum(any), range->high);
  }
}

}  // namespace
}  // namespace edgekiln::compiler
