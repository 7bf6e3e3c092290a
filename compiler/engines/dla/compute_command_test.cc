#include "compiler/engines/dla/compute_command.h"

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "compiler/engines/dla/tiling.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler::dla {
namespace {

using R = DlaRegister;

// An op without weights as one command.
struct CommandCase {
  const char* name;
  const char* op;
  DlaCommand command;
  bool half_even;
  bool two_inputs;
  std::map<R, int64_t> values;  // Beside addresses, pitches and extents.
};

void PrintTo(const CommandCase& row, std::ostream* out) { *out << row.name; }

class ElementwiseTest : public testing::TestWithParam<CommandCase> {
 protected:
  static Layer ParsedLayer() {
    const auto graph = ParseGraph(absl::StrReplaceAll(R"(
%x : int8[1,4,3,8] scale 0.5 zero -3 = input
%z : int8[1,4,3,8] scale 0.5 zero -3 = input
%y : int8[1,4,3,8] scale 0.5 zero -3 = OP
return %y
)",
                                                      {{"OP", GetParam().op}}));
    EXPECT_TRUE(graph.ok()) << graph.status();
    const auto layer = LayerOf(*graph, 0);
    EXPECT_TRUE(layer.ok()) << layer.status();
    return *layer;
  }
};

TEST_P(ElementwiseTest, IsOneCommand) {
  const Layer layer = ParsedLayer();
  EXPECT_EQ(layer.has_second_input(), GetParam().two_inputs);
  EXPECT_EQ(layer.input2 != kNoTensor, GetParam().two_inputs);
  const Slice tile = {1, 3, 0, 3, 2, 7};
  TileOperands operands;
  operands.input = {100, 24, 8};
  operands.input2 = {200, 15, 5};
  operands.output = {300, 48, 16};
  const std::vector<ComputeCommand> commands =
      ComputeSlice(layer, tile, operands);
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].command, GetParam().command);
  EXPECT_EQ(commands[0].half_even, GetParam().half_even);
  const RegisterFile& registers = commands[0].registers;
  std::map<R, int64_t> expected = GetParam().values;
  expected.insert({{R::kInAddr, 100},
                   {R::kInRowPitch, 24},
                   {R::kInPixelPitch, 8},
                   {R::kOutAddr, 300},
                   {R::kOutRowPitch, 48},
                   {R::kOutPixelPitch, 16},
                   {R::kOutH, 2},
                   {R::kOutW, 3},
                   {R::kOutC, 5}});
  if (GetParam().two_inputs) {
    expected.insert(
        {{R::kIn2Addr, 200}, {R::kIn2RowPitch, 15}, {R::kIn2PixelPitch, 5}});
  }
  // Exactly what the command reads.
  for (const R reg : target::DlaCommandReads(commands[0].command)) {
    ASSERT_EQ(expected.count(reg), 1u) << target::DlaRegisterName(reg);
    EXPECT_EQ(registers[reg], expected[reg]) << target::DlaRegisterName(reg);
    expected.erase(reg);
  }
  EXPECT_TRUE(expected.empty());
}

// Tiles of channels need those channels of each operand, and nothing else.
TEST_P(ElementwiseTest, ReadsTheElementsThatItWrites) {
  const Layer layer = ParsedLayer();
  const Slice tile = {1, 3, 0, 3, 2, 7};
  EXPECT_EQ(InputOf(layer, tile).slice, tile);
  EXPECT_EQ(BlockBytes(layer, 8, 8), 0);
  // A pixel of one channel of each operand, and of the result.
  EXPECT_EQ(TileBytes(layer, {}, {}), GetParam().two_inputs ? 3 : 2);
}

const CommandCase kCases[] = {
    {"Relu",
     "clip(%x) {clamp {min 0} rounding HALF_EVEN} id y",
     DlaCommand::kActRelu,
     false,
     false,
     {{R::kInZeroPoint, -3}}},
    {"Abs",
     "unary(%x) {function ABS rounding HALF_EVEN} id y",
     DlaCommand::kAbs,
     false,
     false,
     {{R::kInZeroPoint, -3}}},
    {"LeakyRelu",
     "unary(%x) {function LEAKY_RELU alpha 0.75} id y",
     DlaCommand::kActLrelu,
     false,
     false,
     {{R::kInZeroPoint, -3},
      {R::kInMultiplier, int64_t{3} << 29},
      {R::kInShift, 0}}},
    {"LeakyReluHalfEven",
     "unary(%x) {function LEAKY_RELU alpha 0.25 rounding HALF_EVEN} id y",
     DlaCommand::kActLrelu,
     true,
     false,
     {{R::kInZeroPoint, -3},
      {R::kInMultiplier, int64_t{1} << 30},
      {R::kInShift, -1}}},
    {"Minimum",
     "binary(%x, %z) {function MINIMUM rounding HALF_EVEN} id y",
     DlaCommand::kMin,
     false,
     true,
     {}},
    {"Maximum",
     "binary(%x, %z) {function MAXIMUM} id y",
     DlaCommand::kMax,
     false,
     true,
     {}},
};

INSTANTIATE_TEST_SUITE_P(All, ElementwiseTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(CopyBytesTest, IsTheLargerOfEachByteAndItself) {
  const ComputeCommand copy = CopyBytes(2, 3, 8, 480, 96);
  EXPECT_EQ(copy.command, DlaCommand::kMax);
  const std::map<R, int64_t> expected = {
      {R::kInAddr, 480},     {R::kIn2Addr, 480},     {R::kOutAddr, 96},
      {R::kInRowPitch, 24},  {R::kIn2RowPitch, 24},  {R::kOutRowPitch, 24},
      {R::kInPixelPitch, 8}, {R::kIn2PixelPitch, 8}, {R::kOutPixelPitch, 8},
      {R::kOutH, 2},         {R::kOutW, 3},          {R::kOutC, 8}};
  for (const auto& [reg, value] : expected) {
    EXPECT_TRUE(copy.registers.has(reg)) << target::DlaRegisterName(reg);
    EXPECT_EQ(copy.registers[reg], value) << target::DlaRegisterName(reg);
  }
}

// Partition places no other function here.
TEST(LayerOfTest, OtherFunctionsHaveNoCommand) {
  for (const char* op : {"unary(%x) {function NEG} id y",
                         "binary(%x, %x) {function SUB} id y"}) {
    const auto graph = ParseGraph(
        absl::StrReplaceAll("%x : int8[2] scale 1 zero 0 = input\n"
                            "%y : int8[2] scale 1 zero 0 = OP\nreturn %y\n",
                            {{"OP", op}}));
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(LayerOf(*graph, 0).status().code(), absl::StatusCode::kInternal);
  }
}

}  // namespace
}  // namespace edgekiln::compiler::dla
