#include "target/models/dla/conditions.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "target/models/dla/commands.h"
#include "target/models/dla/instruction_set.h"

namespace edgekiln::target {
namespace {

using Reg = DlaRegister;

// A register, an expression for the largest value that a layer writes to it,
// and its name for users.
struct Held {
  Reg reg;
  absl::string_view value;
  absl::string_view need;
};

// Output rows whose windows lie entirely in the padding below the input are cut
// as if they lay above it.
constexpr Held kHeld[] = {
    {Reg::kKernelH, "kernel_h", "kernels up to $0 rows"},
    {Reg::kKernelW, "kernel_w", "kernels up to $0 columns"},
    {Reg::kStrideH, "stride_h", "strides up to $0 rows"},
    {Reg::kStrideW, "stride_w", "strides up to $0 columns"},
    {Reg::kDilationH, "dilation_h", "dilations up to $0 rows"},
    {Reg::kDilationW, "dilation_w", "dilations up to $0 columns"},
    {Reg::kPadTop, "max(pad_top, pad_bottom)",
     "paddings up to $0 rows at top and bottom"},
    {Reg::kPadLeft, "pad_left", "paddings up to $0 columns at the left"},
    {Reg::kDepthMultiplier, "depth_multiplier", "depth multipliers up to $0"},
    {Reg::kInH, "in_h", "inputs up to $0 rows"},
    {Reg::kInW, "in_w", "inputs up to $0 columns"},
    {Reg::kInC, "in_c", "inputs up to $0 channels"},
    {Reg::kOutH, "out_h", "outputs up to $0 rows"},
    {Reg::kOutW, "out_w", "outputs up to $0 columns"},
    {Reg::kOutC, "out_c", "outputs up to $0 channels"},
    {Reg::kInRowPitch, "in_w * in_c", "input rows up to $0 bytes"},
    {Reg::kInPixelPitch, "in_c", "inputs up to $0 channels"},
    {Reg::kIn2RowPitch, "out_w * out_c", "input rows up to $0 bytes"},
    {Reg::kIn2PixelPitch, "out_c", "inputs up to $0 channels"},
    {Reg::kOutRowPitch, "out_w * out_c", "output rows up to $0 bytes"},
    {Reg::kOutPixelPitch, "out_c", "outputs up to $0 channels"},
};
bool Reads(absl::Span<const DlaCommand> commands, Reg reg) {
  for (const DlaCommand command : commands) {
    const auto reads = DlaCommandReads(command);
    if (std::find(reads.begin(), reads.end(), reg) != reads.end()) return true;
  }
  return false;
}

}  // namespace

std::vector<v1::OpPattern::Condition> DlaConditions(const v1::Isa& isa,
                                                    absl::string_view op,
                                                    bool sums) {
  std::vector<v1::OpPattern::Condition> conditions;
  const std::vector<DlaCommand> commands = DlaCommandsOf(op, isa);
  if (commands.empty()) return conditions;
  conditions.reserve(std::size(kHeld));
  const auto add = [&](std::string expr, std::string need) {
    v1::OpPattern::Condition& condition = conditions.emplace_back();
    condition.set_expr(std::move(expr));
    condition.set_need(std::move(need));
  };
  // Without a window, batch counts as rows.
  if (Reads(commands, Reg::kKernelH)) add("batch == 1", "batch 1");
  if (op == "conv2d") add("groups == 1", "convolutions without groups");
  if (Reads(commands, Reg::kIn2Addr)) {
    add("one_shape", "operands of one shape");
  }
  if (op == "clip") add("relu", "clips from 0 up, without an upper bound");
  if (commands.front() == DlaCommand::kPool) {
    add("max(dilation_h, dilation_w) == 1", "pools without dilation");
  }
  for (const Held& held : kHeld) {
    if (!Reads(commands, held.reg)) continue;
    const v1::RegisterDescriptor* const reg = FindRegister(isa, held.reg);
    // Pitches are bounded by memory sizes: 32 bits suffice.
    if (reg == nullptr || reg->bits() >= 32) continue;
    const int bits = reg->bits() - (reg->is_signed() ? 1 : 0);
    const int64_t most = (int64_t{1} << bits) - 1;
    const bool in_pitch =
        held.reg == Reg::kInRowPitch || held.reg == Reg::kInPixelPitch;
    const bool out_pitch =
        held.reg == Reg::kOutRowPitch || held.reg == Reg::kOutPixelPitch;
    // Sums have four bytes. Row pitches are told in bytes, pixels in channels.
    const bool of_sums =
        (op == "requantize" && in_pitch) || (sums && out_pitch);
    const bool in_channels =
        held.reg == Reg::kInPixelPitch || held.reg == Reg::kOutPixelPitch;
    add(absl::StrCat(of_sums ? "4 * " : "", held.value, " <= ", most),
        absl::Substitute(held.need, of_sums && in_channels ? most / 4 : most));
  }
  return conditions;
}

}  // namespace edgekiln::target
