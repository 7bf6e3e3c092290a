#include "target/host_cost.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::target {
namespace {

using V = OpVariable;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

OpVariables Elements(int64_t count) {
  const ShapeSpan shape = absl::MakeConstSpan(&count, 1);
  return *VariablesOf(v1::OpAttributes(), {shape}, {shape});
}

TEST(HostCostTest, UsesTheClassOrTheDefault) {
  const auto costs = HostCosts::Create(Parse<v1::Machine>(R"pb(
    parameters { name: "rate" value: 3 }
    host_costs { op: "softmax" cycles_expr: "60 * elements + 500" }
    host_costs { op: "copy" cycles_expr: "ceildiv(in_elements, 4) + 7" }
    host_costs { op: "default" cycles_expr: "ceildiv(rate * elements, 2)" }
  )pb"));
  ASSERT_TRUE(costs.ok()) << costs.status();
  EXPECT_EQ(*costs->Cycles("softmax", Elements(10)), 1100);
  EXPECT_EQ(*costs->Cycles("reshape", Elements(5)), 8);
  EXPECT_EQ(*costs->CopyCycles(9), 10);
}

TEST(HostCostTest, AnExpressionSeesShapesAndAttributes) {
  const auto costs = HostCosts::Create(Parse<v1::Machine>(R"pb(
    host_costs {
      op: "default"
      cycles_expr: "out_h * out_w * ceildiv(kernel_h * kernel_w * in_c, 8) + stride_h"
    }
  )pb"));
  ASSERT_TRUE(costs.ok()) << costs.status();
  OpVariables variables;
  variables[V::kOutH] = 5;
  variables[V::kOutW] = 4;
  variables[V::kKernelH] = variables[V::kKernelW] = 3;
  variables[V::kInC] = 3;
  variables[V::kStrideH] = 2;
  EXPECT_EQ(*costs->Cycles("conv2d", variables), 5 * 4 * 4 + 2);
}

TEST(HostCostTest, NamesTheClassThatIsWrong) {
  const struct {
    const char* costs;
    const char* message;
  } kCases[] = {
      {"", "no cost for ops without one of their own"},
      {"host_costs { op: \"add\" cycles_expr: \"1\" }", "op: \"default\""},
      {"host_costs { op: \"default\" cycles_expr: \"elemnts\" }",
       "host: costs \"default\": cycles_expr"},
      {"host_costs { op: \"default\" }", "host: costs \"default\""},
  };
  for (const auto& c : kCases) {
    const auto costs = HostCosts::Create(Parse<v1::Machine>(c.costs));
    ASSERT_FALSE(costs.ok()) << c.costs;
    EXPECT_THAT(costs.status().ToString(), testing::HasSubstr(c.message));
  }
}

TEST(HostCostTest, RefusesWhatIsNoNumberOfCycles) {
  const auto costs = HostCosts::Create(Parse<v1::Machine>(R"pb(
    host_costs { op: "default" cycles_expr: "elements - 10" }
    host_costs { op: "add" cycles_expr: "floordiv(elements, in2_elements)" }
  )pb"));
  ASSERT_TRUE(costs.ok()) << costs.status();
  EXPECT_EQ(*costs->Cycles("relu", Elements(10)), 0);
  const auto negative = costs->Cycles("relu", Elements(9));
  EXPECT_TRUE(absl::IsOutOfRange(negative.status()));
  EXPECT_THAT(negative.status().ToString(),
              testing::HasSubstr("an op relu would take -1 cycles"));
  EXPECT_THAT(costs->Cycles("add", Elements(9)).status().ToString(),
              testing::HasSubstr("host: costs \"add\""));
  EXPECT_TRUE(absl::IsOutOfRange(
      HostCosts::Create(Parse<v1::Machine>(
                            R"pb(host_costs {
                                   op: "default"
                                   cycles_expr: "elements * elements"
                                 })pb"))
          ->Cycles("relu", Elements(int64_t{1} << 40))
          .status()));
}

// What the descriptor of the DLA has always said, in its first form.
TEST(HostCostTest, TheDlasHostTakesElementsTimesARate) {
  const auto target = ResolveTarget("extends: \"dla\"");
  ASSERT_TRUE(target.ok()) << target.status();
  const auto costs = HostCosts::Create(target->machine());
  ASSERT_TRUE(costs.ok()) << costs.status();
  const struct {
    const char* op;
    int64_t per_element;
    int64_t per_call;
  } kRates[] = {{"default", 8, 500},           {"conv2d", 3, 2000},
                {"depthwise_conv2d", 4, 2000}, {"fully_connected", 2, 500},
                {"mat_mul", 3, 500},           {"softmax", 60, 500},
                {"reshape", 1, 100},           {"quantize", 20, 500},
                {"dequantize", 10, 500},       {"concat", 8, 500}};
  for (const auto& rate : kRates) {
    for (const int64_t count : {1, 10, 123'457}) {
      EXPECT_EQ(*costs->Cycles(rate.op, Elements(count)),
                count * rate.per_element + rate.per_call)
          << rate.op;
    }
  }
  EXPECT_EQ(*costs->CopyCycles(1000), 1100);
}

TEST(HostCostTest, NamesOps) {
  EXPECT_EQ(OpAttributesName(Parse<v1::OpAttributes>("softmax {}")), "softmax");
  EXPECT_EQ(OpAttributesName({}), "");
}

}  // namespace
}  // namespace edgekiln::target
