#include "simfarm/simulators/dla/constant_operands.h"

#include <algorithm>

#include "simfarm/simulators/dla/access.h"
#include "simfarm/simulators/span_map.h"

namespace edgekiln::simfarm::dla {
namespace {

using Reg = DlaRegister;

// Follows where the bytes of SRAM come from.
class OriginTracker {
 public:
  OriginTracker(const std::vector<Instruction>& instructions,
                const StreamContext& context, int64_t sram_bytes)
      : instructions_(instructions),
        context_(context),
        origins_(sram_bytes),
        operands_(instructions.size()) {}

  std::vector<ConstantOperands> Run(absl::Span<const ShownRange> shown) {
    size_t next = 0;  // Of `shown`, which is in order.
    for (size_t i = 0; i < instructions_.size(); ++i) {
      // What is shown before this instruction is executed.
      for (; next < shown.size() && shown[next].word < instructions_[i].word;
           ++next) {
        Need(shown[next].begin, shown[next].end - shown[next].begin);
      }
      Follow(static_cast<int32_t>(i));
    }
    for (; next < shown.size(); ++next) {
      Need(shown[next].begin, shown[next].end - shown[next].begin);
    }
    return std::move(operands_);
  }

 private:
  void Follow(int32_t index) {
    const Instruction& instruction = instructions_[index];
    const auto need = [this](int64_t address, int64_t bytes) {
      Need(address, bytes);
      return true;
    };
    if (instruction.is_dma()) return FollowTransfer(index);
    VisitInput(instruction, need);
    if (HasSecondInput(instruction.command)) {
      VisitTensor(Input2View(instruction), need);
    }
    if (!FindOperands(index)) VisitConstants(instruction, need);
    VisitTensor(OutputView(instruction),
                [this](int64_t address, int64_t bytes) {
                  origins_.Assign(address, address + bytes, 0);
                  return true;
                });
  }

  void FollowTransfer(int32_t index) {
    const Instruction& instruction = instructions_[index];
    const RowsView system = SystemView(instruction);
    const RowsView sram = SramView(instruction);
    if (instruction.command == DlaCommand::kDmaWrite) {
      VisitRows(sram, [this](int64_t address, int64_t bytes) {
        Need(address, bytes);
        return true;
      });
      return;
    }
    // Only what comes in one piece lies in SRAM as it lies there.
    const bool constant = system.dense() && sram.dense() &&
                          IsConstant(system.address, system.extent());
    operands_[index].unneeded = constant;
    VisitRows(sram, [&](int64_t address, int64_t bytes) {
      origins_.Assign(address, address + bytes, constant ? index + 1 : 0);
      return true;
    });
  }

  bool IsConstant(int64_t system, int64_t bytes) const {
    return std::any_of(context_.system.begin(), context_.system.end(),
                       [&](const StreamContext::Range& range) {
                         const int64_t begin = static_cast<int64_t>(range.base);
                         return !range.writable && system >= begin &&
                                system + bytes <= begin + range.size;
                       });
  }

  // Somebody reads these bytes in SRAM.
  void Need(int64_t address, int64_t bytes) {
    origins_.ForEach(address, std::min(address + bytes, origins_.size()),
                     [this](int64_t, int64_t, int32_t origin) {
                       if (origin > 0) operands_[origin - 1].unneeded = false;
                       return true;
                     });
  }

  // Where [address, address + bytes) of SRAM comes from; -1 if it does not come
  // from one place.
  int64_t OriginOf(int64_t address, int64_t bytes) const {
    int64_t system = -1;
    int spans = 0;
    origins_.ForEach(address, address + bytes,
                     [&](int64_t, int64_t, int32_t origin) {
                       if (origin == 0 || ++spans > 1) {
                         system = -1;
                         return false;
                       }
                       const Instruction& transfer = instructions_[origin - 1];
                       system = transfer[Reg::kDmaSystemAddr] + address -
                                transfer[Reg::kDmaSramAddr];
                       return true;
                     });
    return system;
  }

  bool FindOperands(int32_t index) {
    const Instruction& instruction = instructions_[index];
    const int64_t weights = WeightBytes(instruction);
    if (weights == 0 || !HasTable(instruction.command)) return false;
    const int64_t table_bytes =
        instruction[Reg::kOutC] * target::kDlaTableEntryBytes -
        (WritesInt32(instruction) ? 8 : 0);
    ConstantOperands& operands = operands_[index];
    operands.weights = OriginOf(instruction[Reg::kWeightAddr], weights);
    operands.table = OriginOf(instruction[Reg::kTableAddr], table_bytes);
    if (operands.weights >= 0 && operands.table >= 0) return true;
    operands.weights = operands.table = -1;
    return false;
  }

  const std::vector<Instruction>& instructions_;
  const StreamContext& context_;
  SpanMap<int32_t> origins_;  // Index of the transfer + 1; 0: something else.
  std::vector<ConstantOperands> operands_;
};

}  // namespace

std::vector<ConstantOperands> FindConstantOperands(
    const std::vector<Instruction>& instructions, const StreamContext& context,
    int64_t sram_bytes, absl::Span<const ShownRange> shown) {
  return OriginTracker(instructions, context, sram_bytes).Run(shown);
}

}  // namespace edgekiln::simfarm::dla
