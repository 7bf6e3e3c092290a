#include "simfarm/simulators/dla/limits.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "simfarm/simulators/dla/access.h"

namespace edgekiln::simfarm::dla {
namespace {

using Reg = DlaRegister;

struct Range {
  int64_t min, max;
};

// Values that a command can work with, beyond the width of the register.
Range UsableRange(Reg reg) {
  constexpr int64_t kAny = int64_t{1} << 40;
  switch (reg) {
    case Reg::kInH:
    case Reg::kInW:
    case Reg::kInC:
    case Reg::kOutH:
    case Reg::kOutW:
    case Reg::kOutC:
    case Reg::kKernelH:
    case Reg::kKernelW:
    case Reg::kStrideH:
    case Reg::kStrideW:
    case Reg::kDilationH:
    case Reg::kDilationW:
    case Reg::kDepthMultiplier:
      return {1, 65535};
    case Reg::kPadTop:
    case Reg::kPadLeft:
      return {0, 65535};
    case Reg::kDmaRowBytes:
    case Reg::kDmaRows:
      return {1, kAny};
    case Reg::kInMultiplier:
    case Reg::kIn2Multiplier:
    case Reg::kOutMultiplier:
      return {0, INT32_MAX};
    case Reg::kInShift:
    case Reg::kIn2Shift:
    case Reg::kOutShift:
      return {-31, 30};
    case Reg::kLeftShift:
      return {0, 24};
    case Reg::kFlags:
      return {0, target::kDlaOutInt32};
    case Reg::kPoolKind:
      return {0, target::kDlaPoolAveragePadded};
    case Reg::kInZeroPoint:
    case Reg::kIn2ZeroPoint:
    case Reg::kOutZeroPoint:
    case Reg::kWeightZeroPoint:
    case Reg::kClampMin:
    case Reg::kClampMax:
      return {-128, 127};
    default:
      return {0, kAny};
  }
}

class LimitCheck {
 public:
  LimitCheck(const Instruction& instruction, const StreamContext& context,
             Reach* reach)
      : i_(instruction), context_(context), reach_(reach) {}

  absl::Status Run() {
    EK_RETURN_IF_ERROR(CheckRegisters());
    if (i_.half_even && !RoundsInMode(i_)) {
      return Error("the rounding bit is set, but nothing is rounded");
    }
    if (i_.is_dma()) return CheckTransfer();
    if (IsWindowed(i_.command)) EK_RETURN_IF_ERROR(CheckWindow());
    if (i_.command == DlaCommand::kDepthConv &&
        i_[Reg::kOutC] > i_[Reg::kInC] * i_[Reg::kDepthMultiplier]) {
      return Error("OUT_C is above IN_C times DEPTH_MULTIPLIER");
    }
    EK_RETURN_IF_ERROR(CheckInputs());
    EK_RETURN_IF_ERROR(CheckOutput());
    return CheckConstants();
  }

 private:
  absl::Status Error(std::string what, std::string address = "",
                     std::string limit = "") {
    return ProgramError(i_, context_, std::move(what), std::move(address),
                        std::move(limit));
  }

  absl::Status CheckRegisters() {
    for (const Reg reg : target::DlaCommandReads(i_.command)) {
      const Range range = UsableRange(reg);
      if (i_[reg] >= range.min && i_[reg] <= range.max) continue;
      // Undefined in a mode that does not read it: 0 there.
      if (i_[reg] == 0 &&
          (reg == Reg::kDmaSystemPitch || reg == Reg::kDmaSramPitch)) {
        continue;
      }
      return Error(absl::StrCat("register ", target::DlaRegisterName(reg),
                                " is ", i_[reg]),
                   "", absl::StrCat(range.min, " to ", range.max));
    }
    const auto reads = target::DlaCommandReads(i_.command);
    const bool clamps =
        std::find(reads.begin(), reads.end(), Reg::kClampMin) != reads.end();
    if (clamps && !WritesInt32(i_) && i_[Reg::kClampMin] > i_[Reg::kClampMax]) {
      return Error("CLAMP_MIN is above CLAMP_MAX");
    }
    return absl::OkStatus();
  }

  absl::Status CheckWindow() {
    if (i_[Reg::kOutH] * i_[Reg::kKernelH] > kMaxWindowPositions ||
        i_[Reg::kOutW] * i_[Reg::kKernelW] > kMaxWindowPositions) {
      return Error("the window is too large to simulate", "",
                   absl::StrCat("OUT_H*KERNEL_H and OUT_W*KERNEL_W up to ",
                                kMaxWindowPositions));
    }
    if (i_.command != DlaCommand::kPool ||
        i_[Reg::kPoolKind] == target::kDlaPoolAveragePadded) {
      return absl::OkStatus();
    }
    if (HasEmptyWindow(i_[Reg::kInH], i_[Reg::kOutH], i_[Reg::kKernelH],
                       i_[Reg::kStrideH], i_[Reg::kPadTop]) ||
        HasEmptyWindow(i_[Reg::kInW], i_[Reg::kOutW], i_[Reg::kKernelW],
                       i_[Reg::kStrideW], i_[Reg::kPadLeft])) {
      return Error("a pooling window lies outside the input");
    }
    return absl::OkStatus();
  }

  static bool HasEmptyWindow(int64_t in, int64_t out, int64_t kernel,
                             int64_t stride, int64_t pad) {
    for (int64_t o = 0; o < out; ++o) {
      const int64_t begin = o * stride - pad;
      if (begin >= in || begin + kernel <= 0) return true;
    }
    return false;
  }

  absl::Status CheckSram(absl::string_view what, int64_t begin, int64_t end) {
    if (end > context_.scratchpad_bytes) {
      return Error(
          absl::StrCat(what, " reaches beyond SRAM"),
          absl::StrCat(SramAddress(begin), " to ", SramAddress(end - 1)),
          absl::StrCat(context_.scratchpad_bytes, " bytes of SRAM"));
    }
    reach_->sram_end = std::max(reach_->sram_end, end);
    return absl::OkStatus();
  }

  absl::Status CheckAligned(absl::string_view what, const TensorView& view) {
    if (view.element_bytes == 1 ||
        ((view.address | view.row_pitch | view.pixel_pitch) & 3) == 0) {
      return absl::OkStatus();
    }
    return Error(absl::StrCat(what,
                              ": an int32 tensor whose address or pitch "
                              "is not a multiple of 4"),
                 SramAddress(view.address));
  }

  absl::Status CheckInputs() {
    TensorView view = InputView(i_);
    EK_RETURN_IF_ERROR(CheckAligned("input", view));
    if (IsWindowed(i_.command)) {
      const std::vector<bool> rows = TouchedRows(i_);
      const std::vector<bool> columns = TouchedColumns(i_);
      const int64_t last_row = LastTouched(rows);
      const int64_t last_column = LastTouched(columns);
      if (last_row < 0 || last_column < 0) return absl::OkStatus();
      view.h = last_row + 1;
      view.w = last_column + 1;
    }
    EK_RETURN_IF_ERROR(CheckSram("input", view.address, view.end()));
    if (!HasSecondInput(i_.command)) return absl::OkStatus();
    const TensorView second = Input2View(i_);
    EK_RETURN_IF_ERROR(CheckAligned("second input", second));
    return CheckSram("second input", second.address, second.end());
  }

  static int64_t LastTouched(const std::vector<bool>& touched) {
    int64_t last = static_cast<int64_t>(touched.size()) - 1;
    while (last >= 0 && !touched[last]) --last;
    return last;
  }

  absl::Status CheckOutput() {
    const TensorView view = OutputView(i_);
    EK_RETURN_IF_ERROR(CheckAligned("output", view));
    EK_RETURN_IF_ERROR(CheckSram("output", view.address, view.end()));
    const int64_t row_bytes =
        (view.w - 1) * view.pixel_pitch + view.pixel_bytes();
    if ((view.w > 1 && view.pixel_pitch < view.pixel_bytes()) ||
        (view.h > 1 && view.row_pitch < row_bytes)) {
      return Error("output pixels or rows overlap each other",
                   SramAddress(view.address));
    }
    return absl::OkStatus();
  }

  absl::Status CheckConstants() {
    const int64_t weights = WeightBytes(i_);
    if (weights > 0) {
      const int64_t address = i_[Reg::kWeightAddr];
      EK_RETURN_IF_ERROR(CheckSram("weights", address, address + weights));
    }
    if (!HasTable(i_.command)) return absl::OkStatus();
    const int64_t table = i_[Reg::kTableAddr];
    if (table % 4 != 0) {
      return Error("the table does not lie on a multiple of 4",
                   SramAddress(table));
    }
    const int64_t bytes = i_[Reg::kOutC] * target::kDlaTableEntryBytes -
                          (WritesInt32(i_) ? 8 : 0);
    return CheckSram("table", table, table + bytes);
  }

  absl::Status CheckTransfer() {
    const bool writes_system = i_.command == DlaCommand::kDmaWrite;
    const int64_t rows = i_[Reg::kDmaRows];
    const int64_t bytes = i_[Reg::kDmaRowBytes];
    const int64_t system = i_[Reg::kDmaSystemAddr];
    const int64_t sram = i_[Reg::kDmaSramAddr];
    const auto system_end = End(system, i_[Reg::kDmaSystemPitch], rows, bytes);
    const auto sram_end = End(sram, i_[Reg::kDmaSramPitch], rows, bytes);
    if (!system_end || !sram_end || !CheckedMul(rows, bytes)) {
      return Error("the transfer is too large");
    }
    EK_RETURN_IF_ERROR(CheckSram("transfer", sram, *sram_end));
    if (rows > 1 &&
        i_[writes_system ? Reg::kDmaSystemPitch : Reg::kDmaSramPitch] < bytes) {
      return Error("rows of the transfer overwrite each other");
    }
    for (const StreamContext::Range& range : context_.system) {
      const int64_t begin = static_cast<int64_t>(range.base);
      if (system < begin || *system_end > begin + range.size) continue;
      if (writes_system && !range.writable) {
        return Error("writes to flash", SystemAddress(system));
      }
      reach_->system.push_back(
          {static_cast<uint64_t>(system), static_cast<uint64_t>(*system_end)});
      return absl::OkStatus();
    }
    return Error("the transfer reaches outside system memory",
                 absl::StrCat(SystemAddress(system), " to ",
                              SystemAddress(*system_end - 1)));
  }

  // One past the last byte of `rows` rows.
  static std::optional<int64_t> End(int64_t address, int64_t pitch,
                                    int64_t rows, int64_t bytes) {
    const auto offset = rows == 1 ? 0 : CheckedMul(pitch, rows - 1);
    return offset ? CheckedAdd(*offset, address + bytes) : std::nullopt;
  }

  const Instruction& i_;
  const StreamContext& context_;
  Reach* reach_;
};

}  // namespace

absl::Status CheckLimits(const Instruction& instruction,
                         const StreamContext& context, Reach* reach) {
  return LimitCheck(instruction, context, reach).Run();
}

}  // namespace edgekiln::simfarm::dla
