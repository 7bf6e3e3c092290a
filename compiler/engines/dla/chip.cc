#include "compiler/engines/dla/chip.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "target/memories.h"
#include "target/models/dla.h"

namespace edgekiln::compiler::dla {

absl::StatusOr<Chip> Chip::Create(const v1::Machine& machine, int32_t engine,
                                  int64_t sram_bytes) {
  return Make(machine, engine, sram_bytes, &target::IsaView::Create);
}

absl::StatusOr<Chip> Chip::Borrow(const v1::Machine& machine, int32_t engine,
                                  int64_t sram_bytes) {
  return Make(machine, engine, sram_bytes, &target::IsaView::Borrow);
}

absl::StatusOr<Chip> Chip::Make(
    const v1::Machine& machine, int32_t engine, int64_t sram_bytes,
    absl::StatusOr<target::IsaView> (*view)(const v1::Isa&)) {
  if (engine < 0 || engine >= machine.engines_size()) {
    return absl::InternalError(absl::StrCat("no engine ", engine));
  }
  const v1::Machine::Engine& source = machine.engines(engine);
  if (source.model() != v1::EngineDescriptor::COARSE_DLA) {
    return absl::InternalError(
        absl::StrCat("engine ", source.name(), " is not a coarse DLA"));
  }
  EK_RETURN_IF_ERROR(target::DlaModel().ValidateEngine(machine, engine));
  EK_ASSIGN_OR_RETURN(target::IsaView isa, view(source.isa()));
  EK_ASSIGN_OR_RETURN(target::CommandTiming timing,
                      target::CommandTiming::Create(machine, source));
  Chip chip(std::move(isa), std::move(timing));
  for (int i = 0; i < target::kNumDlaRegisters; ++i) {
    chip.registers_[i] = chip.isa_.FindRegister(
        target::DlaRegisterName(static_cast<DlaRegister>(i)));
    if (const int32_t position = chip.registers_[i]; position >= 0) {
      const int bits = std::min(source.isa().registers(position).bits(), 62);
      chip.most_[i] = (int64_t{1} << bits) - 1;
    }
  }
  for (int i = 0; i < target::kNumDlaCommands; ++i) {
    chip.commands_[i] = chip.isa_.FindCommand(
        target::DlaCommandName(static_cast<DlaCommand>(i)));
  }
  for (int i = 0; i < target::kNumDlaCommands; ++i) {
    if (chip.commands_[i] < 0) continue;
    for (const int32_t used :
         chip.timing_.RegistersOfOccupancy(chip.commands_[i])) {
      const auto reg = absl::c_find(chip.registers_, used);
      if (reg == chip.registers_.end()) continue;
      chip.timed_by_[i].emplace_back(
          static_cast<DlaRegister>(reg - chip.registers_.begin()), used);
    }
  }
  if (const int32_t requant = chip.position(DlaCommand::kRequant);
      requant >= 0) {
    chip.requant_rounds_ = source.isa().commands(requant).takes_rounding();
  }
  chip.sram_memory_ = target::PrivateMemoryOf(machine, engine);
  chip.sram_bytes_ = std::min(
      sram_bytes, machine.memories(chip.sram_memory_).capacity_bytes());
  const v1::ResolvedLink& dma = *target::OnlyLinkOf(machine, engine);
  chip.dma_bytes_per_cycle_ = dma.bytes_per_cycle();
  chip.dma_setup_cycles_ = dma.setup_cycles();
  chip.queue_depth_ = source.queue_depth();
  chip.macs_per_cycle_ = source.macs_per_cycle();
  chip.blocking_dma_ = dma.contention() == v1::LinkDescriptor::BLOCKING;
  return chip;
}

absl::StatusOr<int64_t> Chip::OccupancyCycles(
    DlaCommand command, const RegisterFile& values) const {
  std::array<int64_t, target::kNumDlaRegisters> slots{};
  for (const auto& [reg, slot] : timed_by_[static_cast<size_t>(command)]) {
    slots[slot] = values[reg];
  }
  return timing_.OccupancyCycles(
      position(command),
      absl::MakeConstSpan(slots).first(isa_.num_registers()));
}

}  // namespace edgekiln::compiler::dla
