#ifndef EK_TARGET_MODELS_DLA_COMMANDS_H_
#define EK_TARGET_MODELS_DLA_COMMANDS_H_

// The registers and commands of the engine model COARSE_DLA
// (docs/targets/dla.md). A descriptor says how they are encoded and what they
// cost; commands that it leaves out do not exist on that chip.

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

enum class DlaRegister : uint8_t {
  kInAddr,
  kIn2Addr,
  kWeightAddr,
  kTableAddr,
  kOutAddr,
  kInH,
  kInW,
  kInC,
  kOutH,
  kOutW,
  kOutC,
  kKernelH,
  kKernelW,
  kStrideH,
  kStrideW,
  kDilationH,
  kDilationW,
  kPadTop,
  kPadLeft,
  kInRowPitch,
  kInPixelPitch,
  kOutRowPitch,
  kOutPixelPitch,
  kIn2RowPitch,
  kIn2PixelPitch,
  kInZeroPoint,
  kIn2ZeroPoint,
  kOutZeroPoint,
  kClampMin,
  kClampMax,
  kDepthMultiplier,
  kInMultiplier,
  kInShift,
  kIn2Multiplier,
  kIn2Shift,
  kOutMultiplier,
  kOutShift,
  kLeftShift,
  kFlags,
  kPoolKind,
  kDmaSystemAddr,
  kDmaSramAddr,
  kDmaRowBytes,
  kDmaRows,
  kDmaSystemPitch,
  kDmaSramPitch,
  kWeightZeroPoint,
};
inline constexpr int kNumDlaRegisters = 47;

enum class DlaCommand : uint8_t {
  kRegWrite,
  kEnd,
  kConv,
  kConvRelu,
  kDepthConv,
  kMatMul,
  kActRelu,
  kActLrelu,
  kPool,
  kAbs,
  kMin,
  kMax,
  kAdd,
  kAdd32,
  kShift32,
  kRequant,
  kDmaRead,
  kDmaWrite,
};
inline constexpr int kNumDlaCommands = 18;

// FLAGS.
inline constexpr int64_t kDlaOutInt32 = 1;
// POOL_KIND.
inline constexpr int64_t kDlaPoolAverage = 0;
inline constexpr int64_t kDlaPoolMax = 1;
inline constexpr int64_t kDlaPoolAveragePadded = 2;
// Compute and DMA commands in one stream.
inline constexpr int64_t kMaxDlaStreamCommands = int64_t{1} << 18;
// A per-channel table entry: int32 bias, multiplier, shift.
inline constexpr int64_t kDlaTableEntryBytes = 12;

absl::string_view DlaRegisterName(DlaRegister reg);  // "IN_ADDR"
// Whether a chip may lack it: it is 0 there. Where there is one it is 0 at the
// start of a stream, as no other register is.
bool IsOptional(DlaRegister reg);
absl::string_view DlaCommandName(DlaCommand command);  // "OP_CONV"
v1::CommandUnit DlaCommandUnit(DlaCommand command);
// Whether results are rounded, so that the command may take a rounding.
bool DlaCommandRounds(DlaCommand command);
std::optional<DlaRegister> FindDlaRegister(absl::string_view name);
std::optional<DlaCommand> FindDlaCommand(absl::string_view mnemonic);

// Every register the command may depend on, in the order of the enum. Some are
// not read in some modes: see docs/targets/dla.md section 3.
absl::Span<const DlaRegister> DlaCommandReads(DlaCommand command);

}  // namespace edgekiln::target

#endif  // EK_TARGET_MODELS_DLA_COMMANDS_H_
