#include "compiler/codegen/host_pools.h"

#include <cstdint>
#include <vector>

#include "compiler/ir/text.h"
#include "gtest/gtest.h"
#include "target/layout.h"

namespace edgekiln::compiler {
namespace {

v1::Layout Reversed(v1::Layout layout, int32_t bytes) {
  layout.set_reversed_bytes(bytes);
  return layout;
}

v1::Layout Dense(const std::vector<int64_t>& extents) {
  return target::DenseLayout(extents, 1);
}

TEST(ChannelsOfBlocksTest, AreThoseOfAPixel) {
  EXPECT_EQ(ChannelsOfBlocks(Reversed(Dense({1, 2, 3, 4}), 4)), 4);
  EXPECT_EQ(ChannelsOfBlocks(Reversed(Dense({2, 2, 3, 12}), 4)), 12);
  EXPECT_EQ(ChannelsOfBlocks(InChannelBlocks({1, 2, 3, 128}, 64, 4)), 64);
  EXPECT_EQ(ChannelsOfBlocks(InChannelBlocks({1, 2, 3, 24}, 8, 0)), 8);
  // Planes are blocks of one channel.
  EXPECT_EQ(ChannelsOfBlocks(InChannelBlocks({1, 4, 4, 4}, 1, 0)), 1);
}

TEST(ChannelsOfBlocksTest, OthersAreNone) {
  EXPECT_EQ(ChannelsOfBlocks(Dense({1, 2, 3, 4})), 0);
  EXPECT_EQ(ChannelsOfBlocks(Dense({2, 3, 4})), 0);
  // Groups of several pixels.
  EXPECT_EQ(ChannelsOfBlocks(Reversed(Dense({1, 2, 4, 3}), 4)), 0);
  EXPECT_EQ(ChannelsOfBlocks(InChannelBlocks({1, 4, 4, 4}, 1, 4)), 0);
  // Gaps.
  EXPECT_EQ(ChannelsOfBlocks(Reversed(
                target::StridedLayout({1, 2, 3, 4}, {48, 24, 8, 1}, 1), 4)),
            0);
}

constexpr char kPool[] = R"(
%x : int8[1,2,3,8] scale 1 zero 0 = input
%p : int8[1,1,1,8] scale 1 zero 0 = average_pool2d(%x) {kernel_h 2 kernel_w 3 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id p
return %p
)";

TEST(PoolRunTest, BlocksAreABatch) {
  const auto graph = ParseGraph(kPool);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const TensorId in = graph->ops[0].inputs[0];
  const TensorId out = graph->ops[0].outputs[0];
  const std::vector<HostOrder> orders = {
      {.kind = HostOrder::kChannels, .op = 0, .places = {in, out}}};
  const auto run = [&](const HostLayouts& layouts) {
    return PoolRunAt(*graph, 0, orders, layouts);
  };
  EXPECT_FALSE(run({}).has_value());
  const auto one = run({{in, Reversed(Dense({1, 2, 3, 8}), 4)}});
  ASSERT_TRUE(one.has_value());
  EXPECT_FALSE(one->form.has_value());
  ASSERT_TRUE(one->left.has_value());
  EXPECT_EQ(one->left->SerializeAsString(),
            Reversed(Dense({1, 1, 1, 8}), 4).SerializeAsString());
  const v1::Layout blocks = InChannelBlocks({1, 2, 3, 8}, 4, 4);
  const auto two = run({{in, blocks}});
  ASSERT_TRUE(two.has_value() && two->form.has_value());
  EXPECT_EQ(two->form->inputs[0].shape, (std::vector<int64_t>{2, 2, 3, 4}));
  EXPECT_EQ(two->form->output.shape, (std::vector<int64_t>{2, 1, 1, 4}));
  EXPECT_TRUE(two->left.has_value());
  // Others have it as the pool makes it.
  EXPECT_FALSE(run({{in, blocks}, {out, InChannelBlocks({1, 1, 1, 8}, 4, 4)}})
                   ->left.has_value());
  // Of one pixel, blocks are in plain order.
  EXPECT_FALSE(
      run({{in, InChannelBlocks({1, 2, 3, 8}, 4, 0)}})->left.has_value());
}

}  // namespace
}  // namespace edgekiln::compiler
