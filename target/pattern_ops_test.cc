#include "target/pattern_ops.h"

#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::target {
namespace {

// A name that stood for two things would take ops that its engine cannot run.
TEST(PatternOpsTest, NamesAreOfOneOpOrFunction) {
  const std::vector<std::string> names = OpNames();
  std::set<std::string> distinct(names.begin(), names.end());
  EXPECT_EQ(distinct.size(), names.size());
  EXPECT_EQ(distinct.count("conv2d"), 1u);
  EXPECT_EQ(distinct.count("leaky_relu"), 1u);
  EXPECT_EQ(distinct.count("function_unspecified"), 0u);
  for (const std::string& name : names) {
    EXPECT_TRUE(FindPatternOp(name).has_value()) << name;
  }
  EXPECT_FALSE(FindPatternOp("op").has_value());
  EXPECT_FALSE(FindPatternOp("rounding").has_value());
}

TEST(PatternOpsTest, AFunctionIsOneOfItsOps) {
  v1::OpAttributes abs;
  abs.mutable_unary()->set_function(v1::Unary::ABS);
  v1::OpAttributes minimum;
  minimum.mutable_binary()->set_function(v1::Binary::MINIMUM);
  v1::OpAttributes add;
  add.mutable_add();
  EXPECT_EQ(PatternOpName(abs), "abs");
  EXPECT_EQ(PatternOpName(minimum), "minimum");
  EXPECT_EQ(PatternOpName(add), "add");
  EXPECT_TRUE(FindPatternOp("abs")->Matches(abs));
  EXPECT_TRUE(FindPatternOp("unary")->Matches(abs));
  EXPECT_FALSE(FindPatternOp("neg")->Matches(abs));
  // Its number is that of a function of Binary.
  EXPECT_FALSE(FindPatternOp("sub")->Matches(abs));
  EXPECT_FALSE(FindPatternOp("maximum")->Matches(minimum));
  EXPECT_EQ(FindOp("maximum"), OpCase::kBinary);
}

}  // namespace
}  // namespace edgekiln::target
