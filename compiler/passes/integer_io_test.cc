#include "compiler/passes/integer_io.h"

#include <string>
#include <vector>

#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kIntegerPorts[] = {
    {"RightBehindTheInput",
     R"(
%x : float32[1,4] = input
%q : int8[1,4] scale 0.5 zero 3 = quantize(%x) {rounding HALF_EVEN} id q
%y : int8[1,4] scale 0.5 zero 3 = clip(%q) id y
return %y
)",
     R"(
%x : int8[1,4] scale 0.5 zero 3 = input converted float32 HALF_EVEN
%y : int8[1,4] scale 0.5 zero 3 = clip(%x) id y
return %y
)"},
    // The port keeps the source's layout; integers are transposed.
    {"BehindMovesOfTheInput",
     R"(
%x : float32[1,2,3,1] = input
%t : float32[1,3,1,2] = transpose(%x) {permutation [0, 2, 3, 1]} id t
%r : float32[3,2] = reshape(%t) id r
%q : int8[3,2] scale 0.5 zero 3 = quantize(%r) id q
%y : int8[3,2] scale 0.5 zero 3 = clip(%q) id y
return %y
)",
     R"(
%x : int8[1,2,3,1] scale 0.5 zero 3 = input converted float32 HALF_UP
%t : int8[1,3,1,2] scale 0.5 zero 3 = transpose(%x) {permutation [0, 2, 3, 1]} id t
%r : int8[3,2] scale 0.5 zero 3 = reshape(%t) id r
%y : int8[3,2] scale 0.5 zero 3 = clip(%r) id y
return %y
)"},
    {"SeveralReadersThatRoundTheSame",
     R"(
%x : float32[4] = input
%s : float32[2] = slice(%x) {begin [0] extent [2] stride [1]} id s
%a : int8[2] scale 0.5 zero 3 = quantize(%s) id a
%b : int8[4] scale 0.5 zero 3 = quantize(%x) id b
%c : int8[2] scale 0.5 zero 3 = clip(%a) id c
%d : int8[4] scale 0.5 zero 3 = clip(%b) id d
return %c, %d
)",
     R"(
%x : int8[4] scale 0.5 zero 3 = input converted float32 HALF_UP
%s : int8[2] scale 0.5 zero 3 = slice(%x) {begin [0] extent [2] stride [1]} id s
%c : int8[2] scale 0.5 zero 3 = clip(%s) id c
%d : int8[4] scale 0.5 zero 3 = clip(%x) id d
return %c, %d
)"},
    {"NotWithReadersThatRoundOtherwise",
     R"(
%x : float32[4] = input
%a : int8[4] scale 0.5 zero 3 = quantize(%x) id a
%b : int8[4] scale 0.25 zero 3 = quantize(%x) id b
return %a, %b
)",
     ""},
    {"NotWithAReaderOfRealValues",
     R"(
%x : float32[4] = input
%a : int8[4] scale 0.5 zero 3 = quantize(%x) id a
%b : float32[4] = softmax(%x) {beta 1} id b
return %a, %b
)",
     ""},
    {"NotAnInputThatIsAnOutput",
     R"(
%x : float32[4] = input
%a : int8[4] scale 0.5 zero 3 = quantize(%x) id a
return %a, %x
)",
     ""},
    {"NotAScalePerChannel",
     R"(
%x : float32[2] = input
%a : int8[2] axis 0 scale [0.5, 0.25] zero [0, 0] = quantize(%x) id a
return %a
)",
     ""},
    // The name of an output stays: a reshape moves no bytes.
    {"AQuantizedInputThatIsAnOutput",
     R"(
%x : float32[4] = input
%a : int8[4] scale 0.5 zero 3 = quantize(%x) id a
return %a
)",
     R"(
%x : int8[4] scale 0.5 zero 3 = input converted float32 HALF_UP
%a : int8[4] scale 0.5 zero 3 = reshape(%x) id a
return %a
)"},
    {"Float16ThroughACast",
     R"(
%x : float16[4] = input
%f : float32[4] = cast(%x) id f
%q : int8[4] scale 0.5 zero 3 = quantize(%f) id q
%c : int8[4] scale 0.5 zero 3 = clip(%q) id c
%d : float32[4] = dequantize(%c) id d
%y : float16[4] = cast(%d) id y
return %y
)",
     R"(
%x : int8[4] scale 0.5 zero 3 = input converted float16 HALF_UP
%y : int8[4] scale 0.5 zero 3 = clip(%x) id c
return %y converted float16 HALF_UP
)"},
    // Quantize and Dequantize do so, too, through float32.
    {"Float16AtOnce",
     R"(
%x : float16[4] = input
%q : int8[4] scale 0.5 zero 3 = quantize(%x) id q
%c : int8[4] scale 0.5 zero 3 = clip(%q) id c
%y : float16[4] = dequantize(%c) id y
return %y
)",
     R"(
%x : int8[4] scale 0.5 zero 3 = input converted float16 HALF_UP
%y : int8[4] scale 0.5 zero 3 = clip(%x) id c
return %y converted float16 HALF_UP
)"},
    // Its Quantize divides in double precision, the caller in single.
    {"NotFloat64AtOnce",
     R"(
%x : float64[4] = input
%q : int8[4] scale 0.5 zero 3 = quantize(%x) id q
return %q
)",
     ""},
    {"Uint8ThatIsShifted",
     R"(
%x : uint8[4] scale 0.5 zero 131 = input
%q : int8[4] scale 0.5 zero 3 = quantize(%x) id q
%c : int8[4] scale 0.5 zero 3 = clip(%q) id c
%y : uint8[4] scale 0.5 zero 131 = quantize(%c) id y
return %y
)",
     R"(
%x : int8[4] scale 0.5 zero 3 = input converted uint8 HALF_UP
%y : int8[4] scale 0.5 zero 3 = clip(%x) id c
return %y converted uint8 HALF_UP
)"},
    {"RealsThroughUint8",
     R"(
%x : float32[4] = input
%u : uint8[4] scale 0.5 zero 131 = quantize(%x) {rounding HALF_EVEN} id u
%q : int8[4] scale 0.5 zero 3 = quantize(%u) id q
%c : int8[4] scale 0.5 zero 3 = clip(%q) id c
%v : uint8[4] scale 0.5 zero 131 = quantize(%c) id v
%y : float32[4] = dequantize(%v) id y
return %y
)",
     R"(
%x : int8[4] scale 0.5 zero 3 = input converted float32 HALF_EVEN
%y : int8[4] scale 0.5 zero 3 = clip(%x) id c
return %y converted float32 HALF_UP
)"},
    {"ShiftedBothWays",
     R"(
%x : uint8[4] scale 0.5 zero 131 = input
%a : int8[4] scale 0.5 zero 3 = quantize(%x) id a
%b : uint8[4] scale 0.5 zero 131 = quantize(%a) id b
%c : uint8[4] scale 0.5 zero 131 = clip(%b) id c
%d : int8[4] scale 0.5 zero 3 = quantize(%c) id d
%y : uint8[4] scale 0.5 zero 131 = quantize(%d) id y
return %y
)",
     R"(
%x : uint8[4] scale 0.5 zero 131 = input
%y : uint8[4] scale 0.5 zero 131 = clip(%x) id c
return %y
)"},
    {"NotUint8ThatIsRounded",
     R"(
%x : uint8[4] scale 0.5 zero 131 = input
%q : int8[4] scale 0.25 zero 3 = quantize(%x) id q
return %q
)",
     ""},
    {"RightInFrontOfTheOutput",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%c : int8[4] scale 0.5 zero 3 = clip(%x) id c
%y : float32[4] = dequantize(%c) id y
return %y
)",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%y : int8[4] scale 0.5 zero 3 = clip(%x) id c
return %y converted float32 HALF_UP
)"},
    {"InFrontOfMovesToTheOutputs",
     R"(
%x : int8[1,3,1,2] scale 0.5 zero 3 = input
%c : int8[1,3,1,2] scale 0.5 zero 3 = clip(%x) id c
%d : float32[1,3,1,2] = dequantize(%c) id d
%t : float32[1,2,3,1] = transpose(%d) {permutation [0, 3, 1, 2]} id t
%r : float32[6] = reshape(%t) id r
return %r, %t
)",
     R"(
%x : int8[1,3,1,2] scale 0.5 zero 3 = input
%c : int8[1,3,1,2] scale 0.5 zero 3 = clip(%x) id c
%t : int8[1,2,3,1] scale 0.5 zero 3 = transpose(%c) {permutation [0, 3, 1, 2]} id t
%r : int8[6] scale 0.5 zero 3 = reshape(%t) id r
return %r converted float32 HALF_UP, %t converted float32 HALF_UP
)"},
    {"TheSameTensorTwice",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%c : int8[4] scale 0.5 zero 3 = clip(%x) id c
%y : float32[4] = dequantize(%c) id y
return %y, %c, %y
)",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%c : int8[4] scale 0.5 zero 3 = clip(%x) id c
%y : int8[4] scale 0.5 zero 3 = reshape(%c) id y
return %y converted float32 HALF_UP, %c, %y converted float32 HALF_UP
)"},
    // Real values are still there for who computes with them.
    {"AnOutputThatIsAlsoReadAsRealValues",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%c : int8[4] scale 0.5 zero 3 = clip(%x) id c
%y : float32[4] = dequantize(%c) id y
%r : float32[2,2] = reshape(%y) id r
%s : float32[4] = softmax(%y) {beta 1} id s
return %y, %r, %s
)",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%y : int8[4] scale 0.5 zero 3 = clip(%x) id c
%y.float : float32[4] = dequantize(%y) id y
%r : int8[2,2] scale 0.5 zero 3 = reshape(%y) id r
%s : float32[4] = softmax(%y.float) {beta 1} id s
return %y converted float32 HALF_UP, %r converted float32 HALF_UP, %s
)"},
    {"NotAnOutputOfRealValues",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%d : float32[4] = dequantize(%x) id d
%s : float32[4] = softmax(%d) {beta 1} id s
%r : float32[2,2] = reshape(%s) id r
return %r
)",
     ""},
    {"NotAConstant",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%c : int8[2] scale 0.5 zero 3 = constant [1, 2]
%y : float32[2] = dequantize(%c) id y
return %y, %x
)",
     ""},
    // An input of integers has its own name.
    {"AnInputThatIsConvertedToAnOutput",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%y : float32[4] = dequantize(%x) id y
return %y
)",
     R"(
%x : int8[4] scale 0.5 zero 3 = input
%y : int8[4] scale 0.5 zero 3 = reshape(%x) id y
return %y converted float32 HALF_UP
)"},
    {"NotAState",
     R"(
%x : float32[4] = input
%h : float32[4] = input
%p : int8[4] scale 0.5 zero 3 = quantize(%x) id p
%q : int8[4] scale 0.5 zero 3 = quantize(%h) id q
%a : int8[4] scale 0.5 zero 3 = add(%p, %q) id a
%n : float32[4] = dequantize(%a) id n
return %n states %h = %n
)",
     R"(
%x : int8[4] scale 0.5 zero 3 = input converted float32 HALF_UP
%h : float32[4] = input
%q : int8[4] scale 0.5 zero 3 = quantize(%h) id q
%a : int8[4] scale 0.5 zero 3 = add(%x, %q) id a
%n : float32[4] = dequantize(%a) id n
return %n states %h = %n
)"},
};

Graph Parsed(const char* text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  return graph.ok() ? *std::move(graph) : Graph();
}

class IntegerPortsTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(IntegerPortsTest, Rewrites) {
  const bool rewrites = GetParam().after[0] != '\0';
  Graph graph = Parsed(GetParam().before);
  EXPECT_EQ(SetIoForm(v1::IO_INTEGER, graph), rewrites);
  const absl::Status verified = VerifyGraph(graph);
  ASSERT_TRUE(verified.ok()) << verified << "\n" << PrintGraph(graph);
  EXPECT_EQ(
      PrintGraph(graph),
      PrintGraph(Parsed(rewrites ? GetParam().after : GetParam().before)));
  EXPECT_FALSE(SetIoForm(v1::IO_INTEGER, graph)) << "again";
}

// What the host computes instead of the caller is what the graph computed.
TEST_P(IntegerPortsTest, TheOtherFormComputesTheSame) {
  const Graph before = Parsed(GetParam().before);
  Graph graph = before;
  SetIoForm(v1::IO_FLOAT, graph);
  EXPECT_TRUE(graph.converted_inputs.empty());
  EXPECT_TRUE(graph.converted_outputs.empty());
  const absl::Status verified = VerifyGraph(graph);
  ASSERT_TRUE(verified.ok()) << verified << "\n" << PrintGraph(graph);
  for (size_t i = 0; i < before.inputs.size(); ++i) {
    const Tensor& is = graph.tensors[graph.inputs[i]];
    const Tensor& was = before.tensors[before.inputs[i]];
    EXPECT_EQ(is.name, was.name);
    EXPECT_EQ(is.type, was.type);
    EXPECT_EQ(is.shape, was.shape);
    EXPECT_EQ(is.quantization, was.quantization);
  }
  ExpectSameOutputs(before, graph, /*seed=*/1);
}

INSTANTIATE_TEST_SUITE_P(All, IntegerPortsTest,
                         testing::ValuesIn(kIntegerPorts),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(SetIoFormTest, ConversionsStandAroundTheNetwork) {
  Graph graph = Parsed(R"(
%a : float32[2] = input
%p : int8[2] scale 0.5 zero 3 = quantize(%a) {rounding HALF_EVEN} id first
%c : int8[2] scale 0.5 zero 3 = clip(%p) id c
%y : float32[2] = dequantize(%c) id early
%b : float64[2] = input
%f : float32[2] = cast(%b) id f
%q : int8[2] scale 0.5 zero 3 = quantize(%f) id q
%d : int8[2] scale 0.5 zero 3 = add(%c, %q) id d
%z : uint8[2] scale 0.5 zero 131 = quantize(%d) id z
return %y, %z
)");
  EXPECT_TRUE(SetIoForm(v1::IO_FLOAT, graph));
  EXPECT_EQ(PrintGraph(graph), PrintGraph(Parsed(R"(
%a : float32[2] = input
%b : float64[2] = input
%a.int8 : int8[2] scale 0.5 zero 3 = quantize(%a) {rounding HALF_EVEN} id quantize_a
%b.float32 : float32[2] = cast(%b) id cast_b
%b.int8 : int8[2] scale 0.5 zero 3 = quantize(%b.float32) id quantize_b
%y.int8 : int8[2] scale 0.5 zero 3 = clip(%a.int8) id c
%z.int8 : int8[2] scale 0.5 zero 3 = add(%y.int8, %b.int8) id d
%y : float32[2] = dequantize(%y.int8) id dequantize_y
%z : uint8[2] scale 0.5 zero 131 = quantize(%z.int8) id quantize_z
return %y, %z
)")));
}

TEST(SetIoFormTest, ConstantsStayShared) {
  Graph graph = Parsed(R"(
%x : float32[1,2] = input
%q : int8[1,2] scale 0.5 zero 3 = quantize(%x) id q
%w : int8[1,2] scale 0.5 zero 0 = constant [1, 2]
%y : int8[1,1] scale 0.5 zero 3 = fully_connected(%q, %w, _) id y
return %y
)");
  const auto weights = [](const Graph& of) {
    for (const Tensor& tensor : of.tensors) {
      if (tensor.is_constant()) return tensor.data->data();
    }
    return static_cast<const char*>(nullptr);
  };
  const char* before = weights(graph);
  SetIoForm(v1::IO_INTEGER, graph);
  EXPECT_EQ(weights(graph), before);
}

}  // namespace
}  // namespace edgekiln::compiler
