#include "compiler/partition/partition.h"

#include <vector>

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
