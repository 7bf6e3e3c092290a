// What passes from one layer to the next without the host: in whose layout it
// lies, and which moves there are.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/ir/graph.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "target/memories.h"
#include "target/resolve.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/graph_builder.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;
using compiler::TensorId;

constexpr WindowCase kPointwise;
constexpr WindowCase kThree = {.kernel = {3, 3}, .pad = {1, 1, 1, 1}};

v1::ResolvedTarget Toy(const std::string& text) {
  const auto target = target::ResolveTarget(text);
  EXPECT_TRUE(target.ok()) << target.status();
  return target.value_or(v1::ResolvedTarget());
}

// Two arrays whose channels lie in blocks of different sizes.
v1::ResolvedTarget TwoLayouts() {
  v1::ResolvedTarget target = Toy("extends: \"toy-two-array\"");
  v1::Machine& machine = *target.mutable_machine();
  std::string jobs;
  google::protobuf::TextFormat::PrintToString(machine.engines(1).jobs(), &jobs);
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrReplaceAll(jobs, {{"block", "block_b"}}),
      machine.mutable_engines(1)->mutable_jobs()));
  v1::Setting& block = *machine.add_parameters();
  block.set_name("block_b");
  block.set_value(4);
  return target;
}

// Layers whose tensors pass between RAM and the memory of engines.
struct Moves {
  std::set<int32_t> within;  // From there to there.
  std::set<int32_t> in;      // From RAM.
  std::set<int32_t> out;     // To RAM.
  int host_ops = 0;
};

Moves MovesOf(const v1::Program& program, const v1::Machine& machine) {
  Moves moves;
  for (const v1::Program::Step& step : program.steps()) {
    moves.host_ops += step.has_host_op() ? 1 : 0;
    if (!step.has_move()) continue;
    const v1::ResolvedMemory& from =
        machine.memories(step.move().from().memory());
    const v1::ResolvedMemory& to = machine.memories(step.move().to().memory());
    const int32_t layer = step.move().layer();
    if (!from.host_reaches() && !to.host_reaches()) moves.within.insert(layer);
    if (target::IsWritable(from) && from.host_reaches()) moves.in.insert(layer);
    if (to.host_reaches()) moves.out.insert(layer);
  }
  return moves;
}

// Of a tensor that stays with the engines; -1 if it does not.
int64_t AddressOf(const v1::Program& program, const Graph& graph,
                  TensorId tensor) {
  for (const v1::TensorUse& use : program.tensors()) {
    if (use.name() == graph.tensors[tensor].name && use.memory() != "ram") {
      return static_cast<int64_t>(use.address());
    }
  }
  return -1;
}

class BordersTest : public testing::Test {
 protected:
  // Compiles it; every value must be right.
  v1::Program Compile(const Graph& graph, const v1::ResolvedTarget& target) {
    EXPECT_TRUE(compiler::VerifyGraph(graph).ok())
        << compiler::VerifyGraph(graph);
    ExpectBitExact(graph, target, {builder_.Sample(), builder_.Sample()});
    const auto compiled = CompileQuantized(graph, target);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    if (!compiled.ok()) return {};
    moves_ = MovesOf(compiled->program, target.machine());
    return compiled->program;
  }

  QuantizedGraphBuilder builder_{1};
  Moves moves_;
};

TEST_F(BordersTest, EnginesWithTwoLayoutsShareOneMemory) {
  TensorId x = builder_.Input({1, 8, 8, 8});
  x = builder_.Conv(x, 12, kThree, true);
  x = builder_.Depthwise(x, 1, kThree, true);
  const TensorId y = builder_.Conv(x, 12, kPointwise, true);
  x = builder_.Conv(builder_.Add(x, y), 16, kThree, true);
  Compile(builder_.Finish({x}), TwoLayouts());
  EXPECT_GE(moves_.within.size(), 2u);
  EXPECT_EQ(moves_.in.size(), 1u);
  EXPECT_EQ(moves_.out.size(), 1u);
}

// 32 channels in blocks of 16: pixels of a block lie together, not channels of
// a pixel.
TEST_F(BordersTest, AReshapeThatIsNoAliasIsAMove) {
  TensorId x = builder_.Input({1, 4, 4, 8});
  x = builder_.Conv(x, 32, kThree, true);
  x = builder_.FullyConnected(builder_.Reshape(x, {1, 512}), 10);
  Compile(builder_.Finish({x}), Toy("extends: \"toy-array\""));
  EXPECT_GE(moves_.within.size(), 1u);
  EXPECT_EQ(moves_.in.size(), 1u);
  EXPECT_EQ(moves_.out.size(), 1u);
}

// One block: the bytes agree.
TEST_F(BordersTest, AReshapeThatIsAnAliasIsNothing) {
  TensorId x = builder_.Input({1, 4, 4, 8});
  x = builder_.Conv(x, 16, kThree, true);
  x = builder_.FullyConnected(builder_.Reshape(x, {1, 256}), 10);
  Compile(builder_.Finish({x}), Toy("extends: \"toy-array\""));
  EXPECT_EQ(moves_.within.size(), 0u);
  EXPECT_EQ(moves_.in.size(), 1u);
  EXPECT_EQ(moves_.out.size(), 1u);
}

// A block that channels fill partly is no digit of an index of all elements: of
// the two layouts, the reader's says where they are.
TEST_F(BordersTest, AReshapeMayLieAsItsReaderHasIt) {
  TensorId x = builder_.Input({1, 4, 4, 8});
  x = builder_.Conv(x, 20, kThree, true);
  x = builder_.FullyConnected(builder_.Reshape(x, {1, 320}), 10);
  Compile(builder_.Finish({x}), Toy("extends: \"toy-array\""));
  EXPECT_EQ(moves_.within.size(), 1u);
  EXPECT_EQ(moves_.in.size(), 1u);
  EXPECT_EQ(moves_.out.size(), 1u);
}

// Neither does: 20 channels and 16 of 32 divide no index together.
TEST_F(BordersTest, AReshapeThatNoLayoutSaysGoesThroughRam) {
  TensorId x = builder_.Input({1, 4, 4, 8});
  x = builder_.Conv(x, 20, kThree, true);
  x = builder_.Conv(builder_.Reshape(x, {1, 2, 5, 32}), 8, kThree, true);
  Compile(builder_.Finish({x}), Toy("extends: \"toy-array\""));
  EXPECT_EQ(moves_.in.size(), 2u);
  EXPECT_EQ(moves_.out.size(), 2u);
}

// Channels first outside, channels last inside.
TEST_F(BordersTest, TransposesBecomePartOfMoves) {
  TensorId x = builder_.Input({1, 3, 9, 8});
  x = builder_.Transpose(x, {0, 2, 3, 1});
  x = builder_.Conv(x, 20, kThree, true);
  x = builder_.Transpose(x, {0, 3, 1, 2});
  x = builder_.Transpose(x, {0, 3, 2, 1});
  x = builder_.Conv(x, 8, kThree, true);
  x = builder_.Transpose(x, {0, 3, 1, 2});
  Compile(builder_.Finish({x}), Toy("extends: \"toy-array\""));
  EXPECT_EQ(moves_.host_ops, 0);
  EXPECT_EQ(moves_.in.size(), 1u);
  EXPECT_EQ(moves_.out.size(), 1u);
}

// The caller has both ends of one, and reads both of the other.
TEST_F(BordersTest, TransposesOfTheHostsOwnStay) {
  const TensorId x = builder_.Input({1, 3, 9, 8});
  const TensorId y = builder_.Transpose(x, {0, 2, 3, 1});
  const TensorId z = builder_.Conv(y, 4, kThree, true);
  const TensorId t = builder_.Transpose(z, {0, 3, 1, 2});
  Compile(builder_.Finish({y, z, t}), Toy("extends: \"toy-array\""));
  EXPECT_EQ(moves_.host_ops, 2);
}

// A sum is written where one of its operands was, whose last use it is.
TEST_F(BordersTest, SumsLieOverWhatTheyAdd) {
  const TensorId x = builder_.Input({1, 16, 16, 16});
  const TensorId a = builder_.Conv(x, 16, kPointwise, true);
  const TensorId b = builder_.Conv(a, 16, kPointwise, true);
  const TensorId sum = builder_.Add(a, b);
  const TensorId c = builder_.Conv(sum, 16, kPointwise, true);
  const TensorId twice = builder_.Add(sum, c);  // `sum` is read later.
  const TensorId last = builder_.Add(builder_.Add(twice, twice), sum);
  const Graph graph = builder_.Finish({builder_.Conv(last, 4, kThree, true)});
  const v1::Program program =
      Compile(graph, Toy("extends: \"toy-array\" set { name: "
                         "\"tile_bytes\" value: 12000 }"));
  const auto address = [&](TensorId tensor) {
    return AddressOf(program, graph, tensor);
  };
  EXPECT_TRUE(address(sum) == address(a) || address(sum) == address(b));
  EXPECT_EQ(address(twice), address(c));
  // There is no room for three of 4096 bytes.
  EXPECT_EQ(moves_.in.size(), 1u);
  EXPECT_EQ(moves_.out.size(), 1u);
}

}  // namespace
}  // namespace edgekiln::tests
