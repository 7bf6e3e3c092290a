#include "compiler/passes/pass.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

const RewriteCase kAttachBiasCases[] = {
    {"OfDequantized",
     R"(
%x : float32[2,2] = input
%w : int8[3,2] scale 0.25 zero 0 = constant [1, 2, 3, 4, 5, 6]
%b : int8[1,3] scale 0.5 zero 1 = constant [1, 2, 3]
%wr : float32[3,2] = dequantize(%w) id wr
%s : float32[2,3] = fully_connected(%x, %wr) id s
%br : float32[1,3] = dequantize(%b) id br
%y : float32[2,3] = add(%br, %s) {clamp {min 0}} id y
return %y
)",
     R"(
%x : float32[2,2] = input
%w : int8[3,2] scale 0.25 zero 0 = constant [1, 2, 3, 4, 5, 6]
%wr : float32[3,2] = dequantize(%w) id wr
%b : int8[1,3] scale 0.5 zero 1 = constant [1, 2, 3]
%br : float32[1,3] = dequantize(%b) id br
%br.vector : float32[3] = reshape(%br) id y.bias
%y : float32[2,3] = fully_connected(%x, %wr, %br.vector) {clamp {min 0}} id s
return %y
)"},
    {"NotWhereTheSumIsRead",
     R"(
%x : float32[2,2] = input
%w : float32[3,2] = constant [1, 2, 3, 4, 5, 6]
%b : float32[3] = constant [1, 2, 3]
%s : float32[2,3] = fully_connected(%x, %w) id s
%y : float32[2,3] = add(%s, %b) id y
return %y, %s
)",
     ""},
    {"NotAlongAnotherDimension",
     R"(
%x : float32[3,2] = input
%w : float32[3,2] = constant [1, 2, 3, 4, 5, 6]
%b : float32[3,1] = constant [1, 2, 3]
%s : float32[3,3] = fully_connected(%x, %w) id s
%y : float32[3,3] = add(%s, %b) id y
return %y
)",
     ""},
};

class AttachBiasTest : public testing::TestWithParam<RewriteCase> {};

TEST_P(AttachBiasTest, Rewrites) {
  ExpectRewrite(*NewAttachBiasPass(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, AttachBiasTest,
                         testing::ValuesIn(kAttachBiasCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
