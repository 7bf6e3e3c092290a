#include "testing/tiny_vector/compiler/code_writer.h"

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::compiler::tiny_vector {

using target::tiny_vector::Command;
using target::tiny_vector::CommandName;
using target::tiny_vector::kMaxWords;
using target::tiny_vector::kNumRegisters;
using target::tiny_vector::Register;
using target::tiny_vector::RegisterName;

absl::StatusOr<CodeWriter> CodeWriter::Create(const v1::Machine& machine,
                                              int32_t engine) {
  const v1::Machine::Engine& described = machine.engines(engine);
  EK_ASSIGN_OR_RETURN(target::IsaView isa,
                      target::IsaView::Create(described.isa()));
  EK_ASSIGN_OR_RETURN(target::CommandTiming timing,
                      target::CommandTiming::Create(machine, described));
  return CodeWriter(std::move(isa), std::move(timing));
}

CodeWriter::CodeWriter(target::IsaView isa, target::CommandTiming timing)
    : isa_(std::move(isa)),
      timing_(std::move(timing)),
      registers_(isa_.num_registers()) {
  for (int i = 0; i < kNumRegisters; ++i) {
    position_[i] = isa_.FindRegister(RegisterName(static_cast<Register>(i)));
  }
}

absl::Status CodeWriter::Set(Register reg, int64_t value) {
  const int i = static_cast<int>(reg);
  if (reg != Register::kSystemAddress && value_[i] == value) {
    return absl::OkStatus();
  }
  value_[i] = value;
  registers_[position_[i]] = value;
  return Append({.command = isa_.register_write(),
                 .reg = position_[i],
                 .immediate = value});
}

absl::Status CodeWriter::Run(Command command) {
  const int32_t position = isa_.FindCommand(CommandName(command));
  if (command != Command::kEnd) {
    EK_ASSIGN_OR_RETURN(const int64_t cycles,
                        timing_.OccupancyCycles(position, registers_));
    cycles_ += cycles;
  }
  return Append({.command = position});
}

absl::Status CodeWriter::Append(const target::CommandWord& word) {
  if (words_ == kMaxWords) {
    return MakeError(absl::StatusCode::kResourceExhausted,
                     {.reason = "STREAM_TOO_LONG",
                      .what = "the stream of the layers is too long",
                      .limit = absl::StrCat(kMaxWords, " words"),
                      .fix = "use a target with larger banks, or leave the "
                             "layer to the host (--offload paying)"});
  }
  EK_ASSIGN_OR_RETURN(const uint64_t bits, isa_.Encode(word),
                      absl::StrCat("word ", words_));
  isa_.AppendWord(bits, code_);
  cycles_ += timing_.IssueCycles(word.command);
  ++words_;
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler::tiny_vector
