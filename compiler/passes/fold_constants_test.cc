#include "compiler/ir/text.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kFoldConstantsCases[] = {
    {"SeveralOutputs",
     R"(
%x : float32[2] = input
%c : float32[3] = constant [1, 3, 2]
%v : float32[2], %i : int64[2] = top_k(%c) {k 2 axis 0} id t
%y : float32[2] = add(%x, %v) id y
return %y
)",
     R"(
%x : float32[2] = input
%v : float32[2] = constant [3, 2]
%y : float32[2] = add(%x, %v) id y
return %y
)"},
    {"ComputesOpsOfConstants",
     R"(
%x : float32[2] = input
%a : float32[2] = constant [1, 2]
%b : float32[2] = constant [0.5, -4]
%c : float32[2] = add(%a, %b) id c
%y : float32[2] = mul(%x, %c) id y
return %y
)",
     R"(
%x : float32[2] = input
%c : float32[2] = constant [1.5, -2]
%y : float32[2] = mul(%x, %c) id y
return %y
)"},
    {"FollowsChains",
     R"(
%x : float32[2,1] = input
%a : float32[1,2] = constant [1, -2]
%t : float32[2,1] = transpose(%a) {permutation [1, 0]} id t
%r : float32[2,1] = clip(%t) {clamp {min 0}} id r
%y : float32[2,1] = mul(%x, %r) id y
return %y
)",
     R"(
%x : float32[2,1] = input
%r : float32[2,1] = constant [1, 0]
%y : float32[2,1] = mul(%x, %r) id y
return %y
)"},
    {"KeepsOutputs",
     R"(
%x : float32[2] = input
%a : float32[2] = constant [1, 2]
%y : float32[2] = clip(%a) {clamp {max 1}} id y
%z : float32[2] = add(%x, %a) id z
return %y, %z
)",
     ""},
};

class FoldConstantsTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(FoldConstantsTest, RewritesTo) {
  ExpectRewrite(*NewFoldConstantsPass(), GetParam());
}

// Constants that are 4096 bytes together; the limits are those around them.
TEST(FoldConstantsLimitsTest, WhatIsTooLargeOrTooMuchWorkStays) {
  constexpr char kText[] = R"(
%x : float32[1024] = input
%a : float32[1] = constant [1]
%e : float32[1024] = broadcast_to(%a) {shape [1024]} id e
%n : float32[1024] = unary(%e) {function NEG} id n
%y : float32[1024] = add(%x, %n) id y
return %y
)";
  constexpr int64_t kBytes = 4 * 1024;
  constexpr int64_t kMuch = 1 << 20;
  struct Case {
    PassContext context;
    size_t ops;
  };
  const Case cases[] = {
      {{.max_constant_bytes = 2 * kBytes, .max_folding_work = kMuch}, 1},
      {{.max_constant_bytes = 2 * kBytes - 1, .max_folding_work = kMuch}, 2},
      {{.max_constant_bytes = kBytes, .max_folding_work = kMuch}, 3},
      {{.max_constant_bytes = kMuch, .max_folding_work = 1025 + 2048}, 1},
      {{.max_constant_bytes = kMuch, .max_folding_work = 1025 + 2047}, 2},
      {{.max_constant_bytes = kMuch, .max_folding_work = 1024}, 3},
  };
  for (const Case& limits : cases) {
    absl::StatusOr<Graph> graph = ParseGraph(kText);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const auto changed = NewFoldConstantsPass()->Run(limits.context, *graph);
    ASSERT_TRUE(changed.ok()) << changed.status();
    EXPECT_EQ(graph->ops.size(), limits.ops)
        << limits.context.max_constant_bytes << " bytes, "
        << limits.context.max_folding_work << " elements";
    EXPECT_TRUE(VerifyGraph(*graph).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(All, FoldConstantsTest,
                         testing::ValuesIn(kFoldConstantsCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
