// Descriptors whose weights and biases share bytes: on DIANA.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "compiler/engines/register_job/chip.h"
#include "compiler/engines/register_job/constants.h"
#include "compiler/engines/register_job/schedule.h"
#include "compiler/engines/register_job/testing/diana.h"
#include "compiler/engines/register_job/testing/toy_machine.h"
#include "gtest/gtest.h"
#include "target/builtin.h"
#include "target/resolve.h"

namespace edgekiln::compiler::register_job {
namespace {

constexpr int32_t kL2 = 0;

// Weights of the first 16 channels, then their biases; so for each 16.
constexpr char kStep[] = "in_c * kernel_h * kernel_w * 16 + 64";
constexpr char kFartherStep[] = "in_c * kernel_h * kernel_w * 16 + 128";

// `text` with that step of the convolution's weights, and their size.
std::string WithStep(const std::string& text, absl::string_view step) {
  const auto lines = [](absl::string_view each) {
    return std::vector<std::string>{
        absl::StrCat("name: \"weights\"\n        terms { axis: \"o\" "
                     "divide_expr: \"16\" stride_bytes_expr: \"",
                     each, "\""),
        absl::StrCat("size_bytes_expr: \"ceildiv(out_c, 16) * (", each, ")")};
  };
  const std::vector<std::string> from = lines(kStep);
  const std::vector<std::string> to = lines(step);
  std::string changed = text;
  for (size_t i = 0; i < from.size(); ++i) {
    EXPECT_TRUE(absl::StrContains(text, from[i])) << from[i];
    changed = absl::StrReplaceAll(changed, {{from[i], to[i]}});
  }
  return changed;
}

TEST(OverlappingConstantsTest, AreRefusedInTheDescriptor) {
  std::string text;
  for (const target::BuiltinTarget& each : target::BuiltinTargets()) {
    if (each.name == "diana") text = each.text;
  }
  EXPECT_TRUE(target::ResolveTarget(WithStep(text, kStep)).ok());
  const auto resolved = target::ResolveTarget(WithStep(text, kFartherStep));
  ASSERT_FALSE(resolved.ok());
  const auto detail = GetErrorDetail(resolved.status());
  ASSERT_TRUE(detail.has_value()) << resolved.status();
  EXPECT_EQ(detail->reason, "TARGET_INVALID");
  EXPECT_EQ(detail->what, "operands overlap");
  EXPECT_EQ(detail->where, "job CONVOLUTION: operands weights, bias");
}

// What packing all constants of an op on such a machine is refused for.
std::optional<ErrorDetail> Refusal(const v1::Machine& machine,
                                   const OpSpec& spec, bool dense_blocks) {
  const auto chip = Chip::Create(machine, 0);
  EXPECT_TRUE(chip.ok()) << chip.status();
  const Graph graph = Shifted(spec);
  const auto placement =
      PlaceOperands(*chip, RegionOf(graph, {0}), kL2, {}, dense_blocks);
  EXPECT_TRUE(placement.ok()) << placement.status();
  EXPECT_EQ(placement->block > 0, dense_blocks);
  const Image& out = placement->operation.out;
  const auto schedule =
      Schedule::Create(*placement, {.tiling = {out.h, out.w, out.c}});
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return GetErrorDetail(PackConstants(graph, *placement, *schedule).status());
}

// Packing refuses it as well.
TEST(OverlappingConstantsTest, AreNotPacked) {
  v1::Machine machine = Diana();
  int changed = 0;
  for (auto& job :
       *machine.mutable_engines(0)->mutable_jobs()->mutable_jobs()) {
    for (auto& operand : *job.mutable_operands()) {
      if (operand.name() != "weights" ||
          operand.terms(0).stride_bytes_expr() != kStep) {
        continue;
      }
      operand.mutable_terms(0)->set_stride_bytes_expr(kFartherStep);
      operand.set_size_bytes_expr(
          absl::StrCat("ceildiv(out_c, 16) * (", kFartherStep, ")"));
      ++changed;
    }
  }
  ASSERT_EQ(changed, 1);
  const auto detail = Refusal(machine,
                              {.name = "c",
                               .kind = "conv2d",
                               .h = 4,
                               .w = 4,
                               .c = 8,
                               .out_c = 64,
                               .kernel_h = 3,
                               .kernel_w = 3,
                               .pad = 1},
                              /*dense_blocks=*/false);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->what, "operands overlap in a job of 64 output channels");
  EXPECT_EQ(detail->where, "job CONVOLUTION: operands weights, bias");
}

// Jobs of dense blocks have as many output channels as a block.
TEST(OverlappingConstantsTest, OfDenseBlocksAreThoseOfOneBlock) {
  v1::Machine machine = Diana();
  int changed = 0;
  for (auto& job :
       *machine.mutable_engines(0)->mutable_jobs()->mutable_jobs()) {
    for (auto& operand : *job.mutable_operands()) {
      if (operand.name() != "bias" ||
          operand.terms(0).stride_bytes_expr() != kStep) {
        continue;
      }
      operand.set_address_expr("weights_addr + 64");
      ++changed;
    }
  }
  ASSERT_EQ(changed, 1);
  const auto detail = Refusal(machine,
                              {.name = "d",
                               .kind = "depthwise_conv2d",
                               .h = 4,
                               .w = 4,
                               .c = 35,
                               .out_c = 35,
                               .kernel_h = 3,
                               .kernel_w = 3,
                               .pad = 1},
                              /*dense_blocks=*/true);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->what, "operands overlap in a job of 16 output channels");
}

}  // namespace
}  // namespace edgekiln::compiler::register_job
