// Small graphs with something unusual about them, on every chip against the
// interpreter.

#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"
#include "tests/chips/chip_cases.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {
namespace {

struct OddGraph {
  const char* name;
  const char* graph;  // Of an int8 input with four elements.
};

void PrintTo(const OddGraph& row, std::ostream* out) { *out << row.name; }

// Everything fits.
constexpr int64_t kScratchpadBytes = 512 << 10;

class OddGraphTest
    : public testing::TestWithParam<std::tuple<const ChipCase*, OddGraph>> {};

TEST_P(OddGraphTest, IsBitExact) {
  const auto& [chip, row] = GetParam();
  const auto graph = compiler::ParseGraph(row.graph);
  ASSERT_TRUE(graph.ok()) << graph.status();
  ExpectBitExact(*graph, chip->target(kScratchpadBytes),
                 {std::string("\x05\x80\x7f\x11", 4)});
}

class EmptyTensorTest : public testing::TestWithParam<const ChipCase*> {};

TEST_P(EmptyTensorTest, IsRefusedByName) {
  const auto graph = compiler::ParseGraph(R"(
%x : int8[1,4] scale 0.5 zero 3 = input
%e : int8[1,0] scale 0.5 zero 3 = slice(%x) {begin [0, 2] extent [1, 0] stride [1, 1]} id e
%y : int8[1,4] scale 0.5 zero 3 = concat(%e, %x) {axis 1} id y
return %y
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto compiled =
      CompileQuantized(*graph, GetParam()->target(kScratchpadBytes));
  const auto detail = GetErrorDetail(compiled.status());
  ASSERT_TRUE(detail.has_value()) << compiled.status();
  EXPECT_EQ(detail->fault, Fault::kUser);
  EXPECT_EQ(detail->where, "tensor 'e'");
}

const OddGraph kGraphs[] = {
    {"AConstantIsAnOutput", R"(
%x : int8[1,1,1,4] scale 0.5 zero 3 = input
%k : int8[3] scale 1 zero 0 = constant [1, 2, 3]
%y : int8[1,1,1,4] scale 1 zero 0 = add(%x, %x) id y
return %y, %k
)"},
    {"AConstantUnderAnotherShapeIsAnOutputAndRead", R"(
%x : int8[1,1,1,4] scale 0.5 zero 3 = input
%y : int8[1,1,1,4] scale 1 zero 0 = add(%x, %x) id y
%k : int8[4] scale 1 zero 0 = constant [1, -2, 3, 4]
%r : int8[1,1,1,4] scale 1 zero 0 = reshape(%k) id r
%d : float32[1,1,1,4] = dequantize(%r) id d
return %y, %r, %d
)"},
    // Tensors of the program and of the graph have the same numbers, also where
    // weights were replaced.
    {"ConvolutionsInGroups", R"(
%x : int8[1,1,1,4] scale 0.5 zero 3 = input
%w : int8[4,1,1,2] scale 0.25 zero 0 = constant [1, -2, 3, -4, 5, -6, 7, -8]
%b : int32[4] = constant [100, -200, 300, 0]
%c : int8[1,1,1,4] scale 3 zero 1 = conv2d(%x, %w, %b) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} groups 2} id c
%v : int8[4,1,1,1] scale 0.25 zero 0 = constant [9, -3, 4, 7]
%y : int8[1,1,1,4] scale 4 zero 1 = conv2d(%c, %v, %b) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} groups 4} id y
return %y
)"},
    // What an engine makes, under four dimensions of a batch.
    {"AReshapeToABatch", R"(
%x : int8[2,2] scale 0.5 zero 3 = input
%w : int8[6,2] scale 0.25 zero 0 = constant [1, -2, 3, -4, 5, -6, 7, -8, 9, 1, 2, 3]
%f : int8[2,6] scale 0.5 zero 1 = fully_connected(%x, %w) id f
%y : int8[2,3,2,1] scale 0.5 zero 1 = reshape(%f) id y
return %y
)"},
    {"ReshapesInARow", R"(
%x : int8[2,2] scale 0.5 zero 3 = input
%w : int8[6,2] scale 0.25 zero 0 = constant [1, -2, 3, -4, 5, -6, 7, -8, 9, 1, 2, 3]
%f : int8[2,6] scale 0.5 zero 1 = fully_connected(%x, %w) id f
%a : int8[3,2,2,1] scale 0.5 zero 1 = reshape(%f) id a
%b : int8[2,1,3,1,2,1] scale 0.5 zero 1 = reshape(%a) id b
%c : int8[12] scale 0.5 zero 1 = reshape(%b) id c
%d : int8[1,2,2,3] scale 0.5 zero 1 = reshape(%c) id d
%y : int8[1,2,2,3] scale 1 zero 0 = add(%d, %d) id y
return %y, %b
)"},
    {"AReshapeToAScalar", R"(
%x : int8[1,4] scale 0.5 zero 3 = input
%w : int8[1,4] scale 0.25 zero 0 = constant [1, -2, 3, -4]
%f : int8[1,1] scale 0.5 zero 1 = fully_connected(%x, %w) id f
%y : int8[] scale 0.5 zero 1 = reshape(%f) id y
return %y
)"},
    {"TheInputUnderABatchIsRead", R"(
%x : int8[4] scale 0.5 zero 3 = input
%r : int8[2,1,1,2] scale 0.5 zero 3 = reshape(%x) id r
%s : int8[1,2,1,2] scale 0.5 zero 3 = reshape(%r) id s
%y : int8[1,2,1,2] scale 1 zero 0 = add(%s, %s) id y
return %y, %r
)"},
    // The engine reads what a host op left, under another shape.
    {"AReshapeAtTheHeadOfASubgraph", R"(
%x : int8[4] scale 0.5 zero 3 = input
%h : int8[4] scale 0.5 zero 3 = clip(%x) {clamp {min 0}} id h
%r : int8[2,2,1,1] scale 0.5 zero 3 = reshape(%h) id r
%s : int8[1,2,1,2] scale 0.5 zero 3 = reshape(%r) id s
%y : int8[1,2,1,2] scale 1 zero 0 = add(%s, %s) id y
return %y
)"},
    {"AReshapeBehindASubgraphIsTheHosts", R"(
%x : int8[1,2,1,2] scale 0.5 zero 3 = input
%a : int8[1,2,1,2] scale 1 zero 0 = add(%x, %x) id a
%r : int8[4,1,1,1] scale 1 zero 0 = reshape(%a) id r
%y : int8[4,1,1,1] scale 1 zero 0 = clip(%r) {clamp {min 0}} id y
%s : int8[2,2,1,1] scale 1 zero 0 = reshape(%y) id s
return %s
)"},
    // There is no place in RAM for what an engine would have to read.
    {"AConstantUnderAnotherShapeIsAdded", R"(
%x : int8[1,2,1,2] scale 0.5 zero 3 = input
%a : int8[1,2,1,2] scale 1 zero 0 = add(%x, %x) id a
%k : int8[4] scale 1 zero 0 = constant [1, -2, 3, 4]
%r : int8[1,2,1,2] scale 1 zero 0 = reshape(%k) id r
%y : int8[1,2,1,2] scale 1 zero 0 = add(%a, %r) id y
return %y
)"},
    {"AHostLayerOfABatch", R"(
%x : int8[2,1,2,1] scale 0.5 zero 3 = input
%y : int8[2,1,2,1] scale 1 zero 0 = add(%x, %x) id y
return %y
)"},
};

INSTANTIATE_TEST_SUITE_P(All, OddGraphTest,
                         testing::Combine(testing::ValuesIn(AllChips()),
                                          testing::ValuesIn(kGraphs)),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param)->name,
                                               "_",
                                               std::get<1>(info.param).name);
                         });

INSTANTIATE_TEST_SUITE_P(Chips, EmptyTensorTest, testing::ValuesIn(AllChips()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace edgekiln::tests
