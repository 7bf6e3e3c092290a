#include "testing/tiny_vector/simulator/instruction.h"

#include <algorithm>
#include <bitset>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/command_timing.h"
#include "target/isa_view.h"

namespace edgekiln::simfarm::tiny_vector {
namespace {

using target::tiny_vector::CommandName;
using target::tiny_vector::kMaxWords;
using target::tiny_vector::kNumRegisters;
using target::tiny_vector::RegisterName;

// Of a stream; sums of a few of them stay in 64 bits.
constexpr int64_t kMaxCycles = int64_t{1} << 60;

class Decoder {
 public:
  Decoder(absl::string_view code, const v1::Machine& machine,
          target::IsaView isa, target::CommandTiming timing,
          const StreamContext& context)
      : code_(code),
        isa_(std::move(isa)),
        timing_(std::move(timing)),
        context_(context),
        banks_(target::tiny_vector::BanksOf(machine, context.engine)),
        bank_vectors_{
            machine.memories(banks_.a).capacity_bytes() / banks_.lanes,
            machine.memories(banks_.b).capacity_bytes() / banks_.lanes},
        isa_registers_(isa_.num_registers()) {
    out_.system.resize(context.system.size());
  }

  absl::StatusOr<DecodedStream> Run() {
    const int64_t bytes = isa_.word_bytes();
    const auto words = static_cast<int64_t>(code_.size()) / bytes;
    if (words == 0 || words > kMaxWords ||
        static_cast<int64_t>(code_.size()) != words * bytes) {
      return MakeError(
          absl::StatusCode::kFailedPrecondition,
          {.fault = Fault::kInfra,
           .reason = "PROGRAM_INVALID",
           .what = absl::StrCat("the stream has ", code_.size(), " bytes"),
           .limit = absl::StrCat("1 to ", kMaxWords, " words of ", bytes,
                                 " bytes")});
    }
    out_.num_words = static_cast<int32_t>(words);
    for (int32_t word = 0; word < out_.num_words; ++word) {
      EK_RETURN_IF_ERROR(DecodeWord(word));
    }
    return std::move(out_);
  }

 private:
  absl::Status DecodeWord(int32_t index) {
    const auto word = isa_.Decode(isa_.ReadWord(code_, index));
    if (!word.ok()) {
      return ProgramError(index, "no command", context_,
                          std::string(word.status().message()));
    }
    const std::string& name = isa_.command(word->command).mnemonic();
    const Command command = *target::tiny_vector::FindCommand(name);
    EK_RETURN_IF_ERROR(
        AddCycles(timing_.IssueCycles(word->command), index, name));
    control_cycles_ += timing_.IssueCycles(word->command);
    if (command == Command::kSet) {
      const auto reg =
          *target::tiny_vector::FindRegister(isa_.reg(word->reg).name());
      isa_registers_[word->reg] = word->immediate;
      registers_[static_cast<int>(reg)] = word->immediate;
      defined_.set(static_cast<int>(reg));
      if (index + 1 < out_.num_words) return absl::OkStatus();
      return ProgramError(index, name, context_,
                          "the stream does not end with END");
    }
    if (word->immediate != 0) {
      return ProgramError(index, name, context_, "a command with an immediate");
    }
    if ((command == Command::kEnd) != (index + 1 == out_.num_words)) {
      return ProgramError(index, name, context_,
                          "END is the last word, and no other is");
    }
    if (command == Command::kEnd) {
      out_.end_cycles = control_cycles_;
      return absl::OkStatus();
    }
    return AddInstruction(index, word->command, command);
  }

  absl::Status AddCycles(int64_t cycles, int32_t index,
                         absl::string_view name) {
    const auto total = CheckedAdd(total_cycles_, cycles);
    if (!total || *total > kMaxCycles) {
      return ProgramError(index, name, context_, "the stream takes too long",
                          "", absl::StrCat(kMaxCycles, " cycles"));
    }
    total_cycles_ = *total;
    return absl::OkStatus();
  }

  absl::Status AddInstruction(int32_t index, int32_t position,
                              Command command) {
    Instruction i{.word = index,
                  .command = command,
                  .control_cycles = control_cycles_,
                  .registers = registers_};
    for (const Register reg : target::tiny_vector::Reads(command)) {
      if (defined_.test(static_cast<int>(reg))) continue;
      return Error(i, absl::StrCat("reads register ", RegisterName(reg),
                                   ", which was not written"));
    }
    EK_RETURN_IF_ERROR(target::tiny_vector::IsTransfer(command)
                           ? CheckTransfer(i)
                           : CheckCompute(i));
    const auto cycles = timing_.OccupancyCycles(position, isa_registers_);
    if (!cycles.ok()) return Error(i, std::string(cycles.status().message()));
    EK_RETURN_IF_ERROR(AddCycles(*cycles, index, CommandName(command)));
    i.occupancy_cycles = *cycles;
    out_.instructions.push_back(i);
    control_cycles_ = 0;
    return absl::OkStatus();
  }

  absl::Status Error(const Instruction& i, std::string what,
                     absl::string_view address = "", std::string limit = "") {
    return ProgramError(i.word, CommandName(i.command), context_,
                        std::move(what), address, std::move(limit));
  }

  // `vectors` from the one in `reg` on.
  absl::Status Reach(const Instruction& i, Register reg, int64_t vectors) {
    const bool a = reg == Register::kA;
    const int64_t end = i[reg] + vectors;
    const int64_t limit = bank_vectors_[a ? 0 : 1];
    if (end > limit) {
      return Error(i, "leaves the bank",
                   absl::StrCat("bank ", a ? "A" : "B", ", vector ", end - 1),
                   absl::StrCat(limit, " vectors"));
    }
    int64_t& reached = a ? out_.vectors_a : out_.vectors_b;
    reached = std::max(reached, end);
    return absl::OkStatus();
  }

  absl::Status CheckTransfer(const Instruction& i) {
    if (i[Register::kPieces] < 1 || i[Register::kPieceBytes] < 1) {
      return Error(i, "moves nothing");
    }
    EK_RETURN_IF_ERROR(
        Reach(i, i.command == Command::kLoadA ? Register::kA : Register::kB,
              i.Vectors(banks_.lanes)));
    const bool store = i.command == Command::kStore;
    if (store && i[Register::kPieces] > 1 &&
        i[Register::kSystemPitch] < i[Register::kPieceBytes]) {
      return Error(i, "pieces overlap");
    }
    const auto begin = static_cast<uint64_t>(i[Register::kSystemAddress]);
    const uint64_t end = begin + static_cast<uint64_t>(i.SystemExtent());
    for (size_t m = 0; m < context_.system.size(); ++m) {
      const StreamContext::Range& range = context_.system[m];
      if (begin < range.base ||
          end > range.base + static_cast<uint64_t>(range.size)) {
        continue;
      }
      if (store && !range.writable) break;
      EngineStream::SystemRange& reached = out_.system[m];
      if (reached.begin == reached.end) reached = {begin, end};
      reached.begin = std::min(reached.begin, begin);
      reached.end = std::max(reached.end, end);
      return absl::OkStatus();
    }
    return Error(i,
                 store ? "writes where no memory can be written"
                       : "reads where no memory is",
                 absl::StrFormat("system memory 0x%x", begin));
  }

  absl::Status CheckCompute(const Instruction& i) {
    if (i[Register::kVectors] < 1) return Error(i, "computes nothing");
    EK_RETURN_IF_ERROR(Reach(i, Register::kB, i[Register::kVectors]));
    if (!i.reads_a()) return absl::OkStatus();
    EK_RETURN_IF_ERROR(Reach(i, Register::kA, i[Register::kVectors]));
    if (i[Register::kClampMin] > i[Register::kClampMax]) {
      return Error(i, "CLAMP_MIN is above CLAMP_MAX");
    }
    if (i.command != Command::kAdd) return absl::OkStatus();
    for (const Register reg :
         {Register::kAShift, Register::kBShift, Register::kOutShift}) {
      if (i[reg] >= -31 && i[reg] <= 30) continue;
      return Error(i, absl::StrCat(RegisterName(reg), " is ", i[reg]), "",
                   "-31 to 30");
    }
    return absl::OkStatus();
  }

  absl::string_view code_;
  const target::IsaView isa_;
  const target::CommandTiming timing_;
  const StreamContext& context_;
  const Banks banks_;
  const int64_t bank_vectors_[2];
  DecodedStream out_;
  std::vector<int64_t> isa_registers_;  // In the order of the instruction set.
  std::array<int64_t, kNumRegisters> registers_{};
  std::bitset<kNumRegisters> defined_;
  int64_t control_cycles_ = 0;
  int64_t total_cycles_ = 0;
};

}  // namespace

int64_t Instruction::PieceVectors(int64_t lanes) const {
  return ((*this)[Register::kPieceBytes] + lanes - 1) / lanes;
}

int64_t Instruction::Vectors(int64_t lanes) const {
  return (*this)[Register::kPieces] * PieceVectors(lanes);
}

int64_t Instruction::SystemExtent() const {
  return ((*this)[Register::kPieces] - 1) * (*this)[Register::kSystemPitch] +
         (*this)[Register::kPieceBytes];
}

absl::StatusOr<DecodedStream> DecodeStream(absl::string_view code,
                                           const v1::Machine& machine,
                                           const StreamContext& context) {
  const v1::Machine::Engine& engine = machine.engines(context.engine);
  EK_ASSIGN_OR_RETURN(target::IsaView isa,
                      target::IsaView::Create(engine.isa()));
  EK_ASSIGN_OR_RETURN(target::CommandTiming timing,
                      target::CommandTiming::Create(machine, engine));
  return Decoder(code, machine, std::move(isa), std::move(timing), context)
      .Run();
}

absl::Status ProgramError(int32_t word, absl::string_view name,
                          const StreamContext& context, std::string what,
                          absl::string_view address, std::string limit) {
  std::string where = absl::StrCat("command ", word, " (", name, ")");
  if (!address.empty()) absl::StrAppend(&where, ", ", address);
  if (context.layer_name) {
    absl::StrAppend(&where, ", layer ", context.layer_name(word));
  }
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   {.fault = Fault::kInfra,
                    .reason = "PROGRAM_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .limit = std::move(limit)});
}

}  // namespace edgekiln::simfarm::tiny_vector
