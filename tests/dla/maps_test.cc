// Element-wise functions of the DLA: networks of floats, quantized for it, run
// on it as a whole.

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/ir/text.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/integer_io.h"
#include "gtest/gtest.h"
#include "tests/chips/chip_cases.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/chips/random_graphs.h"
#include "tests/chips/smallest_scratchpad.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/synthetic.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

const ChipCase& Dla() { return ChipCases().front(); }

// As a network would have them: between convolutions, with two readers, and
// where no convolution takes the clamp.
constexpr char kNetwork[] = R"(
%x : float32[1,12,12,3] = input
%w : float32[8,3,3,3] = constant WEIGHTS
%c : float32[1,10,10,8] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id c
%l : float32[1,10,10,8] = unary(%c) {function LEAKY_RELU alpha 0.1} id l
%a : float32[1,10,10,8] = unary(%l) {function ABS} id a
%m : float32[1,10,10,8] = binary(%l, %a) {function MINIMUM} id m
%n : float32[1,10,10,8] = binary(%m, %c) {function MAXIMUM} id n
%r : float32[1,10,10,8] = clip(%n) {clamp {min 0}} id r
%p : float32[1,5,5,8] = max_pool2d(%r) {kernel_h 2 kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id p
return %p, %m
)";

TEST(MapsTest, AQuantizedNetworkRunsOnTheEngineAlone) {
  std::string weights;
  for (int i = 0; i < 8 * 3 * 3 * 3; ++i) {
    absl::StrAppend(&weights, i == 0 ? "[" : ", ", (i * 37 % 101 - 50) / 100.0);
  }
  const auto source = compiler::ParseGraph(
      absl::StrReplaceAll(kNetwork, {{"WEIGHTS", weights + "]"}}));
  ASSERT_TRUE(source.ok()) << source.status();
  auto graph = QuantizedBySample(*source);
  ASSERT_TRUE(graph.ok()) << graph.status();
  compiler::UseIntegerPorts(*graph);
  const auto inputs = SyntheticInputs(*graph);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const int64_t smallest = SmallestScratchpad(Dla(), *graph);
  for (const int64_t bytes :
       {smallest, smallest * 2, smallest * 5, int64_t{1} << 20}) {
    SCOPED_TRACE(bytes);
    const v1::ResolvedTarget target = Dla().target(bytes);
    const auto compiled = CompileQuantized(*graph, target);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    for (const v1::Program::Layer& layer : compiled->program.layers()) {
      EXPECT_EQ(layer.engine(), 0) << layer.id() << ": " << layer.reason();
    }
    ExpectBitExact(*graph, target, *inputs);
  }
}

// In both roundings; random_graphs_test runs them on tiles of all sizes.
TEST(MapsTest, QuantizedNetworksStayOnTheEngine) {
  for (const bool half_even : {false, true}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(seed);
      QuantizedGraphBuilder builder(seed);
      if (half_even) builder.RoundHalfEven();
      const Graph graph = RandomMaps(builder);
      const auto partition =
          compiler::PartitionGraph(graph, Dla().target(1 << 20).capabilities());
      ASSERT_TRUE(partition.ok()) << partition.status();
      for (const auto& placement : partition->placements()) {
        EXPECT_EQ(placement.engine(), 0) << placement.reason();
      }
    }
  }
}

// Why the DLA leaves an op to the host.
struct HostCase {
  const char* name;
  const char* op;
  const char* reason;
};

void PrintTo(const HostCase& row, std::ostream* out) { *out << row.name; }

class MapsOfTheHostTest : public testing::TestWithParam<HostCase> {};

TEST_P(MapsOfTheHostTest, AreExplained) {
  std::string zeros = "[0";
  for (int i = 1; i < 4 * 3 * 8; ++i) absl::StrAppend(&zeros, ", 0");
  absl::StrAppend(&zeros, "]");
  const auto graph = compiler::ParseGraph(
      absl::StrReplaceAll(R"(
%x : int8[1,4,3,8] scale 0.5 zero 0 = input
%other : int8[1,4,3,8] scale 0.25 zero 0 = input
%row : int8[8] scale 0.5 zero 0 = input
%k : int8[1,4,3,8] scale 0.5 zero 0 = constant ZEROS
%y : int8[1,4,3,8] scale 0.5 zero 0 = OP
return %y
)",
                          {{"OP", GetParam().op}, {"ZEROS", zeros}}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto partition =
      compiler::PartitionGraph(*graph, Dla().target(1 << 20).capabilities());
  ASSERT_TRUE(partition.ok()) << partition.status();
  EXPECT_EQ(partition->placements(0).engine(), -1);
  EXPECT_EQ(partition->placements(0).reason(), GetParam().reason);
}

const HostCase kCases[] = {
    {"Scales", "unary(%other) {function ABS} id y",
     "dla needs one quantization for operands and result (other and y differ)"},
    {"ScaleOfOneOperand", "binary(%x, %other) {function MAXIMUM} id y",
     "dla needs one quantization for operands and result (other and y differ)"},
    {"ScaleOfRelu", "clip(%other) {clamp {min 0}} id y",
     "dla needs one quantization for operands and result (other and y differ)"},
    {"Broadcast", "binary(%x, %row) {function MINIMUM} id y",
     "dla needs operands of one shape (here one_shape 0)"},
    {"Constant", "binary(%x, %k) {function MINIMUM} id y",
     "dla needs operands that are activations (k is constant)"},
    {"Relu6", "clip(%x) {clamp {min 0 max 6}} id y",
     "dla needs clips from 0 up, without an upper bound (here relu 0)"},
    {"NegativeSlope", "unary(%x) {function LEAKY_RELU alpha -0.5} id y",
     "dla needs slopes that are not negative (here -0.5)"},
    {"Ties",
     "unary(%x) {function LEAKY_RELU alpha 0.1 rounding HALF_EVEN} id y",
     "dla needs slopes whose products no float rounds to a tie (here 0.1)"},
    // Not: why it is neither leaky ReLU nor an absolute value.
    {"OtherFunction", "unary(%x) {function SIGMOID} id y",
     "no engine of this target has sigmoid"},
};

INSTANTIATE_TEST_SUITE_P(All, MapsOfTheHostTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::tests
