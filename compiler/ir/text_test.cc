#include "compiler/ir/text.h"

#include <string>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

struct RoundTripCase {
  const char* name;
  const char* text;
};

const RoundTripCase kRoundTrips[] = {
    {"InputOnly", "%x : float32[] = input\nreturn %x\n"},
    {"Convolution",
     "graph \"tiny\"\n"
     "%x : int8[1,3,3,1] scale 0.5 zero -128 = input\n"
     "%w : int8[2,2,2,1] axis 0 scale [0.25, 0.1] zero [0, 0] = constant "
     "[1, 2, 3, 4, -5, -6, -7, -8]\n"
     "%b : int32[2] = constant [100000, -1]\n"
     "%y : int8[1,2,2,2] scale 1 zero 3 = conv2d(%x, %w, %b) {window "
     "{stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0 max 6}} "
     "id conv-1 name \"a/b\"\n"
     "return %y\n"},
    {"AbsentInputAndNoAttributes",
     "%x : float32[1,2] = input\n"
     "%w : float32[1,2] = constant [1.5, -inf]\n"
     "%y : float32[1,1] = fully_connected(%x, %w, _) id fc\n"
     "return %y\n"},
    {"ListsAndStrangeNames",
     "%\"a b\\\"%\" : float32[1,2] = input\n"
     "%y : float32[2,1] = transpose(%\"a b\\\"%\") {permutation [1, 0]} id t\n"
     "%a/b:0;c : float32[2,1] = reshape(%y) id r\n"
     "return %a/b:0;c, %y\n"},
    {"ConstantOutputAndBits",
     "%x : bool[2] = constant [0, 1]\n"
     "%n : float32[1] = constant 0x0100c07f\n"
     "%h : float16[1] = constant 0x003c\n"
     "return %x\n"},
    {"RoundingBesideTheOpsOwnFields",
     "%x : int8[2] scale 0.5 zero 1 = input\n"
     "%y : int8[2] scale 0.5 zero 1 = clip(%x) {clamp {min 0} rounding "
     "HALF_EVEN} id c\n"
     "%z : int8[2] scale 1 zero 1 = quantize(%y) {rounding HALF_EVEN} id q\n"
     "return %z\n"},
    {"EnumsAndStates",
     "%x : float32[1] = input\n"
     "%h : float32[1] = input\n"

     "%y : float32[1] = pad(%x) {before [0] after [0] mode EDGE} id p\n"
     "%n : float32[1] = add(%y, %h) id a\n"
     "return %n states %h = %n\n"},
    {"ConvertedPorts",
     "%x : int8[2] scale 0.5 zero 1 = input converted float32 HALF_EVEN\n"
     "%z : int8[2] scale 0.5 zero 1 = input\n"
     "%y : int8[2] scale 0.5 zero 1 = clip(%x) id c\n"
     "return %z, %y converted float16 HALF_UP\n"},
    {"LongConstant",
     "%c : int8[17] = constant 0x0001020304050607080910111213141516\n"
     "return %c\n"},
};

class RoundTripTest : public testing::TestWithParam<RoundTripCase> {};

TEST_P(RoundTripTest, PrintsWhatWasParsed) {
  const absl::StatusOr<Graph> graph = ParseGraph(GetParam().text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(PrintGraph(*graph), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(All, RoundTripTest, testing::ValuesIn(kRoundTrips),
                         [](const auto& info) { return info.param.name; });

struct ErrorCase {
  const char* name;
  const char* text;
  const char* message;  // A part of it.
};

const ErrorCase kErrors[] = {
    {"Empty", "", "1:1: '%' expected"},
    {"NoReturn", "%x : int8[1] = input\n", "2:1: '%' expected"},
    {"UnknownType", "%x : int9[1] = input\nreturn %x",
     "1:6: unknown element type 'int9'"},
    {"UnknownOp", "%x : int8[1] = input\n%y : int8[1] = frob(%x)\nreturn %y",
     "unknown op 'frob'"},
    {"NoFieldOfAnotherOp",
     "%x : float32[1] = input\n"
     "%y : float32[1] = softmax(%x) {add {}}\nreturn %y",
     "unknown field 'add'"},
    {"RoundingIsNoOp",
     "%x : float32[1] = input\n%y : float32[1] = rounding(%x)\nreturn %y",
     "unknown op 'rounding'"},
    {"UnknownField",
     "%x : float32[1] = input\n"
     "%y : float32[1] = softmax(%x) {beta 1 gamma 2}\nreturn %y",
     "2:39: unknown field 'gamma' of Softmax"},
    {"FieldTwice",
     "%x : float32[1] = input\n"
     "%y : float32[1] = softmax(%x) {beta 1 beta 2}\nreturn %y",
     "2:39: field given twice"},
    {"UndefinedTensor", "%x : int8[1] = reshape(%y) return %x",
     "%y is not defined"},
    {"DefinedTwice", "%x : int8[1] = input\n  %x : int8[1] = input\nreturn %x",
     "2:3: %x is defined twice"},
    {"ExtentTooLarge", "%x : int8[9223372036854775808] = input return %x",
     "1:11: integer from 0"},
    {"NegativeExtent", "%x : int8[-1] = input return %x", "1:11: integer"},
    {"ValueOutOfRange", "%x : int8[1] = constant [128] return %x",
     "1:26: integer from -128 to 127"},
    {"TooFewValues", "%x : int8[3] = constant [1, 2] return %x",
     "constant of 2 bytes"},
    {"OddHex", "%x : int8[1] = constant 0x1 return %x", "odd number"},
    {"Elided", "%x : int8[1] = constant sha256:00 return %x", "left out"},
    {"OpenString", "graph \"abc", "string without an end"},
    {"OpenEscape", "graph \"abc\\", "string without an end"},
    {"BadEscape", "graph \"\\q\" return", "malformed escape"},
    {"TrailingText", "%x : int8[1] = input return %x %y",
     "1:32: end of text expected"},
    {"BadNumber", "%x : int8[1] scale 1..5 zero 0 = input return %x",
     "1:20: number expected"},
    {"ScaleWithoutZero", "%x : int8[1] scale 1 = input return %x",
     "'zero' expected"},
    {"UnknownConversion", "%x : int8[1] scale 1 zero 0 = input converted real",
     "unknown element type 'real'"},
    {"UnknownRounding",
     "%x : int8[1] scale 1 zero 0 = input converted float32 DOWN",
     "unknown rounding 'DOWN'"},
    {"ConvertedWithoutAScale",
     "%x : int8[1] = input converted float32 HALF_UP return %x",
     "converted input without one scale"},
    {"ConvertedFromItself",
     "%x : int8[1] scale 1 zero 0 = input converted int8 HALF_UP return %x",
     "cannot be converted from"},
    {"ConvertedState",
     "%x : int8[1] scale 1 zero 0 = input converted float32 HALF_UP "
     "%y : int8[1] scale 1 zero 0 = clip(%x) return %y states %x = %y",
     "state is converted"},
    {"InvalidGraph", "%x : int8[1] scale 1 zero 300 = input return %x",
     "zero point 300"},
};

class ParseErrorTest : public testing::TestWithParam<ErrorCase> {};

TEST_P(ParseErrorTest, NamesThePlace) {
  const absl::StatusOr<Graph> graph = ParseGraph(GetParam().text);
  ASSERT_EQ(graph.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(graph.status().message()).find(GetParam().message),
            std::string::npos)
      << graph.status();
}

INSTANTIATE_TEST_SUITE_P(All, ParseErrorTest, testing::ValuesIn(kErrors),
                         [](const auto& info) { return info.param.name; });

TEST(ParseGraphTest, CommentsAndMissingIds) {
  const absl::StatusOr<Graph> graph = ParseGraph(
      "# a graph\n%x : int8[2] = input # the input\n"
      "%y:int8[1,2]=reshape(%x)return %y # done");
  // "%y:int8" is one name: ':' belongs to names.
  EXPECT_FALSE(graph.ok());
  const absl::StatusOr<Graph> spaced = ParseGraph(
      "# a graph\n%x : int8[2] = input # the input\n"
      "%y :int8[1,2]=reshape(%x)return %y # done");
  ASSERT_TRUE(spaced.ok()) << spaced.status();
  EXPECT_EQ(spaced->ops[0].id, "reshape_0");
}

TEST(PrintGraphTest, ElidesBigConstants) {
  const absl::StatusOr<Graph> graph =
      ParseGraph("%c : int8[3] = constant [1, 2, 3] return %c");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(PrintGraph(*graph, {.elide_constants_above = 2}),
            "%c : int8[3] = constant sha256:"
            "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81\n"
            "return %c\n");
}

TEST(PrintGraphTest, PrintsInvalidGraphs) {
  Graph graph;
  graph.tensors.resize(1);
  graph.ops.resize(1);
  graph.ops[0].inputs = {0, 7, -1};
  graph.ops[0].outputs = {9};
  graph.outputs = {0, 5};
  EXPECT_NE(PrintGraph(graph).find("unspecified("), std::string::npos);
}

}  // namespace
}  // namespace edgekiln::compiler
