#include "simfarm/simulators/dla/decode.h"

#include <bitset>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/command_timing.h"
#include "target/isa_view.h"

namespace edgekiln::simfarm::dla {
namespace {

using Reg = DlaRegister;

// Registers that a command does not read in the mode it is in.
bool IsReadInMode(const Instruction& instruction, Reg reg) {
  switch (reg) {
    case Reg::kOutZeroPoint:
    case Reg::kClampMin:
    case Reg::kClampMax:
      return !WritesInt32(instruction);
    case Reg::kInZeroPoint:
      return instruction.command != DlaCommand::kPool ||
             instruction.half_even ||
             instruction[Reg::kPoolKind] == target::kDlaPoolAveragePadded;
    case Reg::kDmaSystemPitch:
    case Reg::kDmaSramPitch:
      return instruction[Reg::kDmaRows] != 1;
    default:
      return true;
  }
}

class Decoder {
 public:
  Decoder(absl::string_view code, target::IsaView isa,
          target::CommandTiming timing, const StreamContext& context)
      : code_(code),
        isa_(std::move(isa)),
        timing_(std::move(timing)),
        context_(context),
        isa_registers_(isa_.num_registers()) {
    for (int i = 0; i < target::kNumDlaRegisters; ++i) {
      if (target::IsOptional(static_cast<Reg>(i))) defined_.set(i);
    }
    for (int32_t i = 0; i < isa_.num_registers(); ++i) {
      reg_of_.push_back(
          static_cast<int>(*target::FindDlaRegister(isa_.reg(i).name())));
    }
    for (int32_t i = 0; i < isa_.num_commands(); ++i) {
      command_of_.push_back(
          *target::FindDlaCommand(isa_.command(i).mnemonic()));
    }
  }

  absl::StatusOr<DecodedStream> Decode() {
    const int64_t word_bytes = isa_.word_bytes();
    const int64_t words = static_cast<int64_t>(code_.size()) / word_bytes;
    if (words == 0 || words > kMaxStreamWords ||
        static_cast<int64_t>(code_.size()) != words * word_bytes) {
      return StreamError(
          absl::StrCat("the stream has ", code_.size(), " bytes"),
          absl::StrCat("1 to ", kMaxStreamWords, " words of ", word_bytes,
                       " bytes"));
    }
    out_.num_words = static_cast<int32_t>(words);
    for (int32_t word = 0; word < out_.num_words; ++word) {
      EK_RETURN_IF_ERROR(DecodeWord(word));
    }
    return std::move(out_);
  }

 private:
  absl::Status DecodeWord(int32_t index) {
    const uint64_t bits = isa_.ReadWord(code_, index);
    const auto word = isa_.Decode(bits);
    if (!word.ok()) {
      return WordError(index, bits, std::string(word.status().message()));
    }
    const DlaCommand command = command_of_[word->command];
    front_end_cycles_ += timing_.IssueCycles(word->command);
    const bool last = index == out_.num_words - 1;
    if (last != (command == DlaCommand::kEnd)) {
      return WordError(index, bits,
                       last ? "the stream does not end with OP_END"
                            : "OP_END before the end of the stream");
    }
    switch (command) {
      case DlaCommand::kRegWrite:
        isa_registers_[word->reg] = word->immediate;
        registers_[reg_of_[word->reg]] = word->immediate;
        defined_.set(reg_of_[word->reg]);
        return absl::OkStatus();
      case DlaCommand::kEnd:
        if (word->immediate != 0) {
          return WordError(index, bits, "OP_END with an immediate");
        }
        out_.end_front_end_cycles = front_end_cycles_;
        return absl::OkStatus();
      default:
        return AddInstruction(index, bits, *word, command);
    }
  }

  absl::Status AddInstruction(int32_t index, uint64_t bits,
                              const target::CommandWord& word,
                              DlaCommand command) {
    if (static_cast<int64_t>(out_.instructions.size()) >= kMaxInstructions) {
      return StreamError("too many compute and DMA commands",
                         absl::StrCat(kMaxInstructions));
    }
    Instruction instruction{.word = index,
                            .command = command,
                            .half_even = word.half_even,
                            .wait = word.immediate,
                            .front_end_cycles = front_end_cycles_,
                            .registers = registers_};
    front_end_cycles_ = 0;
    const bool dma = instruction.is_dma();
    const int64_t other = dma ? issued_compute_ : issued_dma_;
    if (instruction.wait > other) {
      return WordError(
          index, bits,
          absl::StrCat("waits for ", instruction.wait, " commands of the ",
                       dma ? "compute" : "DMA",
                       " unit; issued so far: ", other));
    }
    for (const Reg reg : target::DlaCommandReads(command)) {
      if (defined_[static_cast<int>(reg)] || !IsReadInMode(instruction, reg)) {
        continue;
      }
      return ProgramError(
          instruction, context_,
          absl::StrCat("reads register ", target::DlaRegisterName(reg),
                       ", which nothing wrote"),
          "");
    }
    const auto cycles = timing_.OccupancyCycles(word.command, isa_registers_);
    if (!cycles.ok()) {
      return ProgramError(instruction, context_,
                          std::string(cycles.status().message()), "");
    }
    instruction.occupancy_cycles = *cycles;
    (dma ? issued_dma_ : issued_compute_) += 1;
    out_.instructions.push_back(instruction);
    return absl::OkStatus();
  }

  absl::Status WordError(int32_t index, uint64_t bits, std::string what) {
    std::string where =
        absl::StrFormat("command %d, word 0x%016x", index, bits);
    if (context_.layer_name) {
      absl::StrAppend(&where, ", layer ", context_.layer_name(index));
    }
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     {.fault = Fault::kInfra,
                      .reason = "PROGRAM_INVALID",
                      .what = std::move(what),
                      .where = std::move(where)});
  }

  absl::Status StreamError(std::string what, std::string limit) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     {.fault = Fault::kInfra,
                      .reason = "PROGRAM_INVALID",
                      .what = std::move(what),
                      .limit = std::move(limit)});
  }

  absl::string_view code_;
  target::IsaView isa_;
  target::CommandTiming timing_;
  const StreamContext& context_;
  std::vector<int> reg_of_;             // By position in the ISA.
  std::vector<DlaCommand> command_of_;  // By position in the ISA.
  std::vector<int64_t> isa_registers_;  // For timing: in the ISA's order.
  std::array<int64_t, target::kNumDlaRegisters> registers_{};
  std::bitset<target::kNumDlaRegisters> defined_;
  int64_t front_end_cycles_ = 0;
  int64_t issued_compute_ = 0;
  int64_t issued_dma_ = 0;
  DecodedStream out_;
};

}  // namespace

absl::StatusOr<DecodedStream> DecodeStream(absl::string_view code,
                                           const v1::Machine& machine,
                                           const v1::Machine::Engine& engine,
                                           const StreamContext& context) {
  EK_ASSIGN_OR_RETURN(target::IsaView isa,
                      target::IsaView::Borrow(engine.isa()));
  EK_ASSIGN_OR_RETURN(target::CommandTiming timing,
                      target::CommandTiming::Create(machine, engine));
  return Decoder(code, std::move(isa), std::move(timing), context).Decode();
}

}  // namespace edgekiln::simfarm::dla
