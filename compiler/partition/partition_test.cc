#include "compiler/partition/partition.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/error.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// An engine of one pattern, int8 in and out.
v1::Capabilities EngineFor(const std::string& op,
                           const std::vector<v1::Rounding>& roundings = {
                               v1::HALF_UP}) {
  v1::Capabilities capabilities;
  auto* engine = capabilities.add_engines();
  engine->set_name("e");
  v1::OpPattern* pattern = engine->add_patterns();
  pattern->add_ops(op);
  v1::Numerics& numerics = *pattern->mutable_numerics();
  numerics.add_activations(v1::INT8);
  numerics.set_activation_zero_points(true);
  for (const v1::Rounding rounding : roundings) {
    numerics.add_roundings(rounding);
  }
  if (op == "conv2d") {
    numerics.add_weights(v1::INT8);
    numerics.set_per_channel(true);
    numerics.set_requantization(v1::Numerics::MULTIPLIER_AND_SHIFT);
    numerics.set_accumulator_bits(32);
  }
  return capabilities;
}

v1::Capabilities PoolingEngine() { return EngineFor("max_pool2d"); }

// Engine of each op of a pool, a clip, and reshapes of what they make.
TEST(PartitionTest, AReshapeAloneIsTheHosts) {
  const auto graph = ParseGraph(R"(
%x : int8[1,2,2,1] scale 1 zero 0 = input
%p : int8[1,1,1,1] scale 1 zero 0 = max_pool2d(%x) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id p
%r : int8[1,1] scale 1 zero 0 = reshape(%p) id r
%c : int8[1,2,2,1] scale 1 zero 0 = clip(%x) {clamp {min 0}} id c
%s : int8[1] scale 1 zero 0 = reshape(%p) id s
return %r, %c, %s
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto partition = PartitionGraph(*graph, PoolingEngine());
  ASSERT_TRUE(partition.ok()) << partition.status();
  std::vector<int> engines;
  for (const auto& placement : partition->placements()) {
    engines.push_back(placement.engine());
  }
  // The first reshape stands beside the pool; the second behind the host's op.
  EXPECT_EQ(engines, (std::vector<int>{0, 0, -1, -1}));
}

// Those given for reshapes do not count.
TEST(PartitionTest, PlacementsGivenAreFollowedByReshapes) {
  const auto graph = ParseGraph(R"(
%x : int8[1,2,2,1] scale 1 zero 0 = input
%p : int8[1,1,1,1] scale 1 zero 0 = max_pool2d(%x) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id p
%r : int8[1,1] scale 1 zero 0 = reshape(%p) id r
%c : int8[1,1] scale 1 zero 0 = clip(%r) {clamp {min 0}} id c
return %c
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const v1::Partition partition =
      PartitionOf(*graph, {{1, "asked"}, {-1, ""}, {-1, "unasked"}});
  ASSERT_EQ(partition.placements_size(), 3);
  EXPECT_EQ(partition.placements(0).reason(), "asked");
  EXPECT_EQ(partition.placements(1).engine(), 1);
  EXPECT_EQ(partition.placements(1).subgraph(), 0);
  EXPECT_EQ(partition.placements(2).engine(), -1);
  EXPECT_EQ(partition.placements(2).subgraph(), 1);

  const auto host = PartitionOnHost(*graph);
  ASSERT_TRUE(host.ok()) << host.status();
  for (const auto& placement : host->placements()) {
    EXPECT_EQ(placement.engine(), -1);
    EXPECT_EQ(placement.subgraph(), 0);
  }
  EXPECT_EQ(host->placements(0).reason(),
            "the job asks for everything on the host (offload none)");

  v1::Capabilities two = PoolingEngine();
  *two.add_engines() = two.engines(0);
  const auto takers = EnginesThatTake(*graph, two);
  ASSERT_TRUE(takers.ok()) << takers.status();
  EXPECT_EQ(*takers, (std::vector<std::vector<Taker>>{{{0}, {1}}, {}, {}}));
}

// There is no place for it in memory.
TEST(PartitionTest, ATensorWithoutElementsIsRefusedByName) {
  const auto graph = ParseGraph(R"(
%x : int8[1,2] scale 1 zero 0 = input
%e : int8[1,0] scale 1 zero 0 = slice(%x) {begin [0, 0] extent [1, 0] stride [1, 1]} id e
%y : int8[1,2] scale 1 zero 0 = concat(%x, %e) {axis 1} id y
return %y
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto partition = PartitionGraph(*graph, PoolingEngine());
  EXPECT_EQ(partition.status().code(), absl::StatusCode::kUnimplemented);
  const auto detail = GetErrorDetail(partition.status());
  ASSERT_TRUE(detail.has_value()) << partition.status();
  EXPECT_EQ(detail->where, "tensor 'e'");
  EXPECT_EQ(detail->what, "a tensor of shape [1,0]");
}

// What is of one layer stands in parentheses: reports count by the rest.
TEST(PartitionTest, ReasonsSayWhatTheEngineNeeds) {
  const struct {
    const char* x;
    const char* weights;
    int stride;
    const char* y;
    const char* reason;
  } kCases[] = {
      {"int8[1,4,4,1] Q", "int8[1,1,2,1] Q = constant [1, 2]", 1,
       "int8[1,4,3,1] Q", "e runs conv2d"},
      {"int8[1,4,4,1] Q", "int8[1,1,2,1] scale 1 zero 3 = constant [1, 2]", 1,
       "int8[1,4,3,1] Q", "e needs symmetric weights"},
      {"int8[1,4,4,1] Q",
       "int8[2,1,1,1] axis 0 scale [1, 2] zero [0, 3] = constant [1, 2]", 1,
       "int8[1,4,4,2] Q", "e needs symmetric weights"},
      {"uint8[1,4,4,1] Q", "uint8[1,1,2,1] Q = constant [1, 2]", 1,
       "uint8[1,4,3,1] Q", "e needs int8 tensors (x is uint8)"},
      {"int8[1,4,4,1] Q", "int8[1,1,2,1] Q = constant [1, 2]", 2,
       "int8[1,2,2,1] Q",
       "e needs strides up to 1 (here stride_h 2, stride_w 2)"},
      {"int8[1,4,9,1] Q", "int8[1,1,2,1] Q = constant [1, 2]", 1,
       "int8[1,4,8,1] Q", "e needs inputs up to 8 columns (here in_w 9)"},
      {"int8[2,4,4,1] Q", "int8[1,1,2,1] Q = constant [1, 2]", 1,
       "int8[2,4,3,1] Q", "e needs batch 1 (here batch 2)"},
      {"int8[1,4,4,1] Q", "int8[1,1,4,1] Q = constant [1, 2, 3, 4]", 1,
       "int8[1,4,1,1] Q",
       "e needs kernels up to 3 (here kernel_h 1, kernel_w 4)"},
  };
  v1::Capabilities engine = EngineFor("conv2d");
  for (const auto& [expr, need] :
       std::vector<std::pair<std::string, std::string>>{
           {"batch == 1", "batch 1"},
           {"in_w <= 8", "inputs up to 8 columns"},
           {"max(kernel_h, kernel_w) <= 3", "kernels up to 3"},
           {"max(stride_h, stride_w) <= 1", "strides up to 1"}}) {
    v1::OpPattern::Condition& condition =
        *engine.mutable_engines(0)->mutable_patterns(0)->add_where();
    condition.set_expr(expr);
    condition.set_need(need);
  }
  for (const auto& test : kCases) {
    const std::string text = absl::StrReplaceAll(
        absl::StrCat("%x : ", test.x, " = input\n%w : ", test.weights,
                     "\n%y : ", test.y,
                     " = conv2d(%x, %w) {window {stride_h S stride_w S "
                     "dilation_h 1 dilation_w 1}} id y\nreturn %y\n"),
        {{" Q", " scale 1 zero 0"}, {" S", absl::StrCat(" ", test.stride)}});
    const auto graph = ParseGraph(text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const auto partition = PartitionGraph(*graph, engine);
    ASSERT_TRUE(partition.ok()) << partition.status();
    EXPECT_EQ(partition->placements(0).reason(), test.reason);
  }
}

TEST(PartitionTest, ReasonsSayWhatTheOpComputes) {
  const auto graph = ParseGraph(R"(
%x : float32[4] = input
%a : float32[4] = unary(%x) {function SQRT} id a
%b : float32[4] = binary(%a, %x) {function SUB} id b
%c : float32[] = reduce(%b) {function MAX axes [0]} id c
%d : float32[4] = softmax(%b) {beta 1} id d
return %c, %d
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto partition = PartitionGraph(*graph, EngineFor("conv2d"));
  ASSERT_TRUE(partition.ok()) << partition.status();
  const char* computes[] = {"sqrt", "sub", "reduce max", "softmax"};
  for (int i = 0; i < 4; ++i) {
    const std::string& reason = partition->placements(i).reason();
    EXPECT_TRUE(absl::StartsWith(
        reason, absl::StrCat("no engine of this target has ", computes[i])))
        << reason;
  }
}

TEST(PartitionTest, ARoundingThatTheEngineLacksIsTheHosts) {
  const auto graph = ParseGraph(R"(
%x : int8[1,2,2,1] scale 1 zero 0 = input
%p : int8[1,1,1,1] scale 1 zero 0 = average_pool2d(%x) {kernel_h 2 kernel_w 2 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} rounding HALF_EVEN} id p
return %p
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const bool rounds : {false, true}) {
    const v1::Capabilities engine =
        EngineFor("average_pool2d",
                  rounds ? std::vector<v1::Rounding>{v1::HALF_UP, v1::HALF_EVEN}
                         : std::vector<v1::Rounding>{v1::HALF_UP});
    const auto partition = PartitionGraph(*graph, engine);
    ASSERT_TRUE(partition.ok()) << partition.status();
    EXPECT_EQ(partition->placements(0).engine(), rounds ? 0 : -1);
    EXPECT_EQ(partition->placements(0).reason(),
              rounds ? "e runs average_pool2d"
                     : "e needs rounding half up (here half to even)");
  }
}

// A convolution and the addition behind it, which only run together.
v1::Capabilities ChainEngine() {
  v1::Capabilities capabilities = EngineFor("conv2d");
  v1::OpPattern& chain = *capabilities.mutable_engines(0)->mutable_patterns(0);
  chain.add_ops("add");
  return capabilities;
}

std::string Placed(const Graph& graph, const v1::Capabilities& capabilities) {
  const auto partition = PartitionGraph(graph, capabilities);
  EXPECT_TRUE(partition.ok()) << partition.status();
  if (!partition.ok()) return "";
  std::string placed;
  for (const auto& placement : partition->placements()) {
    absl::StrAppend(&placed, placed.empty() ? "" : " ",
                    partition->graph().ops(placement.op()).id(),
                    placement.engine());
  }
  return placed;
}

// Two convolutions could have the addition: the first has it. What stood
// between the two ops of the chain comes before both.
TEST(PartitionTest, ChainsBecomeNeighboursAndShareNothing) {
  const auto graph = ParseGraph(R"(
%x : int8[1,1,1,1] scale 1 zero 0 = input
%w : int8[1,1,1,1] scale 1 zero 0 = constant [1]
%a : int8[1,1,1,1] scale 1 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id a
%b : int8[1,1,1,1] scale 1 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id b
%c : int8[1,1,1,1] scale 1 zero 0 = clip(%b) {clamp {min 0}} id c
%d : int8[1,1,1,1] scale 1 zero 0 = add(%c, %a) id d
return %d
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(Placed(*graph, ChainEngine()), "b-1 c-1 a0 d0");
  const auto takers = EnginesThatTake(*graph, ChainEngine());
  ASSERT_TRUE(takers.ok()) << takers.status();
  EXPECT_EQ(*takers, std::vector<std::vector<Taker>>(4));

  const auto both = ParseGraph(R"(
%x : int8[1,1,1,1] scale 1 zero 0 = input
%w : int8[1,1,1,1] scale 1 zero 0 = constant [1]
%a : int8[1,1,1,1] scale 1 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id a
%b : int8[1,1,1,1] scale 1 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id b
%d : int8[1,1,1,1] scale 1 zero 0 = add(%a, %b) id d
return %d
)");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(Placed(*both, ChainEngine()), "b-1 a0 d0");
}

// A constant under another shape is no operand of an engine: then the
// convolution, which the engine only has in front of the addition, is not
// there either.
TEST(PartitionTest, AChainGoesToTheHostAsAWhole) {
  const auto graph = ParseGraph(R"(
%x : int8[1,1,1,1] scale 1 zero 0 = input
%w : int8[1,1,1,1] scale 1 zero 0 = constant [1]
%k : int8[1] scale 1 zero 0 = constant [1]
%r : int8[1,1,1,1] scale 1 zero 0 = reshape(%k) id r
%a : int8[1,1,1,1] scale 1 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id a
%d : int8[1,1,1,1] scale 1 zero 0 = add(%a, %r) id d
return %d
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(Placed(*graph, ChainEngine()), "r-1 a-1 d-1");
}

TEST(PartitionTest, CapabilitiesOfNoTargetAreRefused) {
  const auto graph =
      ParseGraph("%x : int8[1,2,2,1] scale 1 zero 0 = input\nreturn %x\n");
  ASSERT_TRUE(graph.ok()) << graph.status();
  v1::Capabilities engine = PoolingEngine();
  v1::OpPattern& pattern = *engine.mutable_engines(0)->mutable_patterns(0);
  pattern.add_where()->set_expr("kernel_q <= 3");
  EXPECT_TRUE(absl::IsInvalidArgument(PartitionGraph(*graph, engine).status()));
  pattern.clear_where();
  pattern.set_ops(0, "no_op");
  EXPECT_TRUE(absl::IsInvalidArgument(PartitionGraph(*graph, engine).status()));
  pattern.clear_ops();
  EXPECT_TRUE(absl::IsInvalidArgument(PartitionGraph(*graph, engine).status()));
}

}  // namespace
}  // namespace edgekiln::compiler
