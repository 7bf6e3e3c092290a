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

// When commands run, and which registers they need written before.
class Timer {
 public:
  explicit Timer(const Chip& chip) : chip_(chip), timeline_(chip) {
    for (size_t i = 0; i < held_.size(); ++i) {
      if (target::IsOptional(static_cast<DlaRegister>(i))) held_[i] = 0;
    }
  }

  static RegisterFile Resolve(const ScheduledCommand& command,
                              absl::Span<const int64_t> offsets) {
    RegisterFile registers = command.registers;
    for (const ScheduledCommand::Base& base : command.bases) {
      registers.Add(base.reg, offsets[base.buffer]);
    }
    return registers;
  }

  // `write` is called with each register whose value changes, and the value.
  template <typename Write>
  absl::Status WriteRegisters(const ScheduledCommand& command,
                              const RegisterFile& registers,
                              const Write& write) {
    for (const DlaRegister reg : target::DlaCommandReads(command.command)) {
      if (!registers.has(reg)) continue;
      std::optional<int64_t>& held = held_[static_cast<size_t>(reg)];
      if (held == registers[reg]) continue;
      held = registers[reg];
      timeline_.RegisterWrite();
      EK_RETURN_IF_ERROR(write(reg, registers[reg]));
    }
    return absl::OkStatus();
  }

  absl::Status Issue(const ScheduledCommand& command,
                     const RegisterFile& registers, int64_t wait) {
    EK_ASSIGN_OR_RETURN(const int64_t occupancy,
                        chip_.OccupancyCycles(command.command, registers));
    time_.occupancy_cycles.push_back(occupancy);
    time_.command_cycles.push_back(
        timeline_.Issue(command.command, command.is_dma(), wait, occupancy));
    return absl::OkStatus();
  }

  StreamTime Finish() && {
    time_.cycles = timeline_.End();
    if (!time_.command_cycles.empty()) {
      time_.command_cycles.back() += time_.cycles - timeline_.compute_end();
    }
    return std::move(time_);
  }

 private:
  const Chip& chip_;
  Timeline timeline_;
  StreamTime time_;
  std::array<std::optional<int64_t>, target::kNumDlaRegisters> held_;
};

class Encoder {
 public:
  explicit Encoder(const Chip& chip) : chip_(chip), timer_(chip) {}

  absl::Status Add(const ScheduledCommand& command,
                   absl::Span<const int64_t> offsets, int64_t wait) {
    const RegisterFile registers = Timer::Resolve(command, offsets);
    stream_.first_word.push_back(stream_.words);
    EK_RETURN_IF_ERROR(timer_.WriteRegisters(
        command, registers, [this](DlaRegister reg, int64_t value) {
          return Word({.command = chip_.position(DlaCommand::kRegWrite),
                       .reg = chip_.position(reg),
                       .immediate = value});
        }));
    stream_.command_word.push_back(stream_.words);
    EK_RETURN_IF_ERROR(Word({.command = chip_.position(command.command),
                             .immediate = wait,
                             .half_even = command.half_even}));
    return timer_.Issue(command, registers, wait);
  }

  absl::StatusOr<EncodedStream> Finish() && {
    EK_RETURN_IF_ERROR(Word({.command = chip_.position(DlaCommand::kEnd)}));
    StreamTime time = std::move(timer_).Finish();
    stream_.cycles = time.cycles;
    stream_.command_cycles = std::move(time.command_cycles);
    return std::move(stream_);
  }

 private:
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
  Timer timer_;
  EncodedStream stream_;
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

absl::StatusOr<StreamTime> TimeStream(const Chip& chip,
                                      const Schedule& schedule,
                                      absl::Span<const int64_t> offsets,
                                      absl::Span<const int64_t> waits) {
  Timer timer(chip);
  for (size_t i = 0; i < schedule.commands.size(); ++i) {
    const ScheduledCommand& command = schedule.commands[i];
    const RegisterFile registers = Timer::Resolve(command, offsets);
    EK_RETURN_IF_ERROR(timer.WriteRegisters(
        command, registers,
        [](DlaRegister, int64_t) { return absl::OkStatus(); }));
    EK_RETURN_IF_ERROR(timer.Issue(command, registers, waits[i]));
  }
  return std::move(timer).Finish();
}

}  // namespace edgekiln::compiler::dla
