#include "compiler/partition/pattern_match.h"

#include <string>
#include <vector>

#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

Graph PoolAndClip() {
  const auto graph = ParseGraph(R"(
%x : int8[1,4,4,1] scale 1 zero 0 = input
%p : int8[1,2,2,1] scale 1 zero 0 = max_pool2d(%x) {kernel_h 2 kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id p
%c : int8[1,2,2,1] scale 1 zero 0 = clip(%p) {clamp {min 0}} id c
return %c
)");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *graph;
}

void AddPool(v1::Capabilities::Engine& engine, int max_kernel) {
  v1::OpPattern* pattern = engine.add_patterns();
  pattern->set_pattern(v1::OpPattern::MAX_POOL2D);
  pattern->add_element_types(v1::INT8);
  pattern->set_max_kernel(max_kernel);
}

TEST(MatchChainTest, NamesTheOpsOrEveryConditionThatFailed) {
  const Graph graph = PoolAndClip();
  v1::Capabilities::Engine engine;
  AddPool(engine, 1);
  Match match = MatchChain(graph, 0, engine);
  EXPECT_TRUE(match.ops.empty());
  EXPECT_EQ(match.failed,
            std::vector<std::string>{"kernels up to 1 (here 2x2)"});
  // Any pattern that takes it will do.
  AddPool(engine, 2);
  match = MatchChain(graph, 0, engine);
  EXPECT_EQ(match.ops, std::vector<int32_t>{0});
  EXPECT_TRUE(match.failed.empty());
  // There is nothing to say of an op that the engine does not know.
  match = MatchChain(graph, 1, engine);
  EXPECT_TRUE(match.ops.empty());
  EXPECT_TRUE(match.failed.empty());
}

}  // namespace
}  // namespace edgekiln::compiler
