#include "compiler/ir/layer_id.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

TEST(LayerIdMakerTest, RepeatsAreNumbered) {
  LayerIdMaker maker;
  EXPECT_EQ(maker.Make("Conv", ""), "conv");
  EXPECT_EQ(maker.Make("conv", ""), "conv-2");
  EXPECT_EQ(maker.Make("CONV", ""), "conv-3");
}

TEST(LayerIdMakerTest, ANumberThatIsTakenIsPassedOver) {
  LayerIdMaker maker;
  EXPECT_EQ(maker.Make("conv-2", ""), "conv-2");
  EXPECT_EQ(maker.Make("conv", ""), "conv");
  EXPECT_EQ(maker.Make("conv", ""), "conv-3");
}

TEST(LayerIdMakerTest, OneNameForEveryLayerStaysCheap) {
  LayerIdMaker maker;
  std::set<std::string> ids;
  for (int i = 0; i < 200000; ++i) ids.insert(maker.Make("same", ""));
  EXPECT_EQ(ids.size(), 200000u);
}

}  // namespace
}  // namespace edgekiln::compiler
