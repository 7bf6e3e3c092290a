#include "compiler/engines/dla/encode.h"

#include <array>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/timeline.h"

namespace edgekiln::compiler::dla {
namespace {

class Encoder {
 public:
  explicit Encoder(const Chip& chip) : chip_(chip), timeline_(chip) {
    for (size_t i = 0; i < held_.size(); ++i) {
      if (target::IsOptional(static_cast<DlaRegister>(i))) held_[i] = 0;
    }
  }

  absl::Status Add(const ScheduledCommand& command,
                   absl::Span<const int64_t> offsets, int64_t wait) {
    RegisterFile registers = command.registers;
    for (const ScheduledCommand::Base& base : command.bases) {
      registers.Add(base.reg, offsets[base.buffer]);
    }
    stream_.first_word.push_back(stream_.words);
    for (const DlaRegister reg : target::DlaCommandReads(command.command)) {
      if (registers.has(reg)) EK_RETURN_IF_ERROR(Write(reg, registers[reg]));
    }
    stream_.command_word.push_back(stream_.words);
    EK_RETURN_IF_ERROR(Word({.command = chip_.position(command.command),
                             .immediate = wait,
                             .half_even = command.half_even}));
    EK_ASSIGN_OR_RETURN(const int64_t occupancy,
                        chip_.OccupancyCycles(command.command, registers));
    stream_.command_cycles.push_back(
        timeline_.Issue(command.command, command.is_dma(), wait, occupancy));
    return absl::OkStatus();
  }

  absl::StatusOr<EncodedStream> Finish() && {
    EK_RETURN_IF_ERROR(Word({.command = chip_.position(DlaCommand::kEnd)}));
    stream_.cycles = timeline_.End();
    if (!stream_.command_cycles.empty()) {
      stream_.command_cycles.back() += stream_.cycles - timeline_.compute_end();
    }
    return std::move(stream_);
  }

 private:
  absl::Status Write(DlaRegister reg, int64_t value) {
    std::optional<int64_t>& held = held_[static_cast<size_t>(reg)];
    if (held == value) return absl::OkStatus();
    held = value;
    timeline_.RegisterWrite();
    return Word({.command = chip_.position(DlaCommand::kRegWrite),
                 .reg = chip_.position(reg),
                 .immediate = value});
  }

  absl::Status Word(const target::CommandWord& word) {
    absl::StatusOr<uint64_t> bits = chip_.isa().Encode(word);
    if (!bits.ok()) {
      return absl::InternalError(absl::StrCat("encoding word ", stream_.words,
                                              ": ", bits.status().message()));
    }
    chip_.isa().AppendWord(*bits, stream_.code);
    ++stream_.words;
    return absl::OkStatus();
  }

  const Chip& chip_;
  Timeline timeline_;
  EncodedStream stream_;
  std::array<std::optional<int64_t>, target::kNumDlaRegisters> held_;
};

}  // namespace

absl::StatusOr<EncodedStream> EncodeStream(const Chip& chip,
                                           const Schedule& schedule,
                                           absl::Span<const int64_t> offsets,
                                           absl::Span<const int64_t> waits) {
  Encoder encoder(chip);
  for (size_t i = 0; i < schedule.commands.size(); ++i) {
    EK_RETURN_IF_ERROR(encoder.Add(schedule.commands[i], offsets, waits[i]));
  }
  return std::move(encoder).Finish();
}

}  // namespace edgekiln::compiler::dla
