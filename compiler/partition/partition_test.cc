#include "compiler/partition/partition.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/error.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// An engine that only pools.
v1::Capabilities PoolingEngine(
    v1::OpPattern::Pattern pool = v1::OpPattern::MAX_POOL2D) {
  v1::Capabilities capabilities;
  auto* engine = capabilities.add_engines();
  engine->set_name("e");
  v1::OpPattern* pattern = engine->add_patterns();
  pattern->set_pattern(pool);
  pattern->add_element_types(v1::INT8);
  return capabilities;
}

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
  EXPECT_EQ(EnginesThatTake(*graph, two),
            (std::vector<std::vector<int32_t>>{{0, 1}, {}, {}}));
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
       "int8[1,2,2,1] Q", "e needs strides up to 1 (here 2)"},
      {"int8[1,4,9,1] Q", "int8[1,1,2,1] Q = constant [1, 2]", 1,
       "int8[1,4,8,1] Q", "e needs extents up to 8 (x has 9)"},
      {"int8[2,4,4,1] Q", "int8[1,1,2,1] Q = constant [1, 2]", 1,
       "int8[2,4,3,1] Q", "e needs batch 1 (here 2)"},
      {"int8[1,4,4,1] Q", "int8[1,1,4,1] Q = constant [1, 2, 3, 4]", 1,
       "int8[1,4,1,1] Q", "e needs kernels up to 3 (here 1x4)"},
  };
  v1::Capabilities engine = PoolingEngine(v1::OpPattern::CONV2D);
  v1::OpPattern& pattern = *engine.mutable_engines(0)->mutable_patterns(0);
  pattern.set_max_kernel(3);
  pattern.set_max_stride(1);
  pattern.set_max_extent(8);
  pattern.set_per_channel(true);
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
  const auto partition =
      PartitionGraph(*graph, PoolingEngine(v1::OpPattern::CONV2D));
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
  v1::Capabilities engine = PoolingEngine(v1::OpPattern::AVERAGE_POOL2D);
  for (const bool rounds : {false, true}) {
    engine.mutable_engines(0)->mutable_patterns(0)->set_rounds_half_even(
        rounds);
    const auto partition = PartitionGraph(*graph, engine);
    ASSERT_TRUE(partition.ok()) << partition.status();
    EXPECT_EQ(partition->placements(0).engine(), rounds ? 0 : -1);
    EXPECT_EQ(partition->placements(0).reason(),
              rounds ? "e runs average_pool2d"
                     : "e needs rounding half up (here half to even)");
  }
}

}  // namespace
}  // namespace edgekiln::compiler
