#include "server/worker/stages/graph_input.h"

#include <ostream>
#include <string>

#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

struct QuantizedCase {
  const char* name;
  const char* graph;
  bool quantized;
};

void PrintTo(const QuantizedCase& row, std::ostream* out) { *out << row.name; }

const QuantizedCase kCases[] = {
    {"Float32",
     "%x : float32[1,2] = input\n"
     "%w : float32[1,2] = constant [1, 2]\n"
     "%y : float32[1,1] = fully_connected(%x, %w) id y\nreturn %y\n",
     false},
    {"Float16",
     "%x : float16[1,2] = input\n"
     "%w : float16[1,2] = constant 0x003c003c\n"
     "%y : float16[1,1] = fully_connected(%x, %w) id y\nreturn %y\n",
     false},
    {"Float64",
     "%x : float64[1,2] = input\n"
     "%y : float64[1,2] = add(%x, %x) id y\nreturn %y\n",
     false},
    {"IntegerActivations",
     "%x : int8[1,2] scale 1 zero 0 = input\n"
     "%w : int8[1,2] scale 1 zero 0 = constant [1, 2]\n"
     "%y : int8[1,1] scale 1 zero 0 = fully_connected(%x, %w) id y\n"
     "return %y\n",
     true},
    // Weights that are integers for size only.
    {"IntegerWeightsAlone",
     "%x : float32[1,2] = input\n"
     "%w : int8[1,2] scale 1 zero 0 = constant [1, 2]\n"
     "%f : float32[1,2] = dequantize(%w) id f\n"
     "%y : float32[1,1] = fully_connected(%x, %f) id y\nreturn %y\n",
     false},
    {"ProductsOfPlainIntegers",
     "%x : float32[1,2] = input\n"
     "%i : int32[1,2] = cast(%x) id i\n"
     "%w : int32[1,2] = constant [1, 2]\n"
     "%y : int32[1,1] = fully_connected(%i, %w) id y\nreturn %y\n",
     true},
    // There is no range to learn.
    {"Logic",
     "%x : bool[2] = input\n"
     "%y : bool[2] = unary(%x) {function NOT} id y\nreturn %y\n",
     true},
    {"IntegerArithmetic",
     "%x : int32[2] = input\n"
     "%y : int32[2] = add(%x, %x) id y\nreturn %y\n",
     true},
    {"FloatsWithoutProducts",
     "%x : float32[2] = input\n"
     "%y : float32[2] = add(%x, %x) id y\nreturn %y\n",
     false},
};

class IsQuantizedTest : public testing::TestWithParam<QuantizedCase> {};

TEST_P(IsQuantizedTest, Says) {
  const auto graph = compiler::ParseGraph(GetParam().graph);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(IsQuantized(*graph), GetParam().quantized);
}

INSTANTIATE_TEST_SUITE_P(All, IsQuantizedTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::server
