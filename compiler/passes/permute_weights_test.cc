#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kPermuteWeightsCases[] = {
    {"FlattenedChannelsFirst",
     R"(
%x : float32[1,1,2,2] = input
%w : float32[2,4] = constant [1, 2, 3, 4, 5, 6, 7, 8]
%t : float32[1,2,1,2] = transpose(%x) {permutation [0, 3, 1, 2]} id t
%r : float32[1,4] = reshape(%t) id r
%y : float32[1,2] = fully_connected(%r, %w) id y
return %y
)",
     R"(
%x : float32[1,1,2,2] = input
%r.flat : float32[1,4] = reshape(%x) id y.flatten
%w.permuted : float32[2,4] = constant [1, 3, 2, 4, 5, 7, 6, 8]
%y : float32[1,2] = fully_connected(%r.flat, %w.permuted) id y
return %y
)"},
    {"WithoutAReshape",
     R"(
%x : float32[2,3,2] = input
%w : float32[1,6] = constant [1, 2, 3, 4, 5, 6]
%t : float32[2,2,3] = transpose(%x) {permutation [0, 2, 1]} id t
%y : float32[2,1] = fully_connected(%t, %w) id y
return %y
)",
     R"(
%x : float32[2,3,2] = input
%t.flat : float32[2,6] = reshape(%x) id y.flatten
%w.permuted : float32[1,6] = constant [1, 4, 2, 5, 3, 6]
%y : float32[2,1] = fully_connected(%t.flat, %w.permuted) id y
return %y
)"},
    {"QuantizedPerChannel",
     R"(
%x : int8[1,1,2,2] scale 0.5 zero 1 = input
%w : int8[2,4] axis 0 scale [0.5, 0.25] zero [0, 0] = constant [1, 2, 3, 4, 5, 6, 7, 8]
%t : int8[1,2,1,2] scale 0.5 zero 1 = transpose(%x) {permutation [0, 3, 1, 2]} id t
%y : int8[1,2] scale 1 zero 0 = fully_connected(%t, %w) id y
return %y
)",
     R"(
%x : int8[1,1,2,2] scale 0.5 zero 1 = input
%t.flat : int8[1,4] scale 0.5 zero 1 = reshape(%x) id y.flatten
%w.permuted : int8[2,4] axis 0 scale [0.5, 0.25] zero [0, 0] = constant [1, 3, 2, 4, 5, 7, 6, 8]
%y : int8[1,2] scale 1 zero 0 = fully_connected(%t.flat, %w.permuted) id y
return %y
)"},
    {"NotWhereRowsMix",
     R"(
%x : float32[2,3] = input
%w : float32[1,2] = constant [1, 2]
%t : float32[3,2] = transpose(%x) {permutation [1, 0]} id t
%y : float32[3,1] = fully_connected(%t, %w) id y
return %y
)",
     ""},
};

class PermuteWeightsTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(PermuteWeightsTest, RewritesTo) {
  ExpectRewrite(*NewPermuteWeightsPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, PermuteWeightsTest,
                         testing::ValuesIn(kPermuteWeightsCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
