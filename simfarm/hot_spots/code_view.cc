#include "simfarm/hot_spots/code_view.h"

#include <algorithm>
#include <cstring>

namespace edgekiln::simfarm {

std::optional<rv32::Instruction> InstructionAt(const FirmwareProfile& profile,
                                               uint32_t address) {
  for (const rv32::Segment& segment : profile.executable.segments) {
    if (address < segment.address) continue;
    const uint64_t offset = address - segment.address;
    if (offset >= segment.bytes.size()) continue;
    const size_t bytes =
        std::min<size_t>(sizeof(uint32_t), segment.bytes.size() - offset);
    uint32_t bits = 0;
    std::memcpy(&bits, segment.bytes.data() + offset, bytes);
    const std::optional<rv32::Instruction> instruction =
        rv32::Decode(bits, profile.isa);
    if (instruction.has_value() && instruction->length_bytes <= bytes) {
      return instruction;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<uint32_t> JumpTarget(const rv32::Instruction& instruction,
                                   uint32_t pc) {
  const rv32::Format format = rv32::TraitsOf(instruction.op).format;
  const bool is_jump = format == rv32::Format::kJump && instruction.rd == 0;
  if (!is_jump && format != rv32::Format::kBranch) return std::nullopt;
  return pc + static_cast<uint32_t>(instruction.imm);
}

int64_t JumpsTaken(const rv32::Instruction& instruction,
                   const rv32::PcCount& count) {
  return rv32::TraitsOf(instruction.op).format == rv32::Format::kBranch
             ? count.taken
             : count.executions;
}

}  // namespace edgekiln::simfarm
