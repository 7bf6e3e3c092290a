#include "simfarm/simulators/dla/stream.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "simfarm/simulators/dla/access.h"
#include "simfarm/simulators/dla/check.h"
#include "simfarm/simulators/dla/constant_operands.h"
#include "simfarm/simulators/dla/convolution.h"
#include "simfarm/simulators/dla/decode.h"
#include "simfarm/simulators/dla/element_wise.h"
#include "simfarm/simulators/dla/limits.h"
#include "simfarm/simulators/dla/timing.h"
#include "target/memories.h"

namespace edgekiln::simfarm::dla {
namespace {

// `kStep` divides row_bytes: copies of so few bytes need no call.
template <int64_t kStep>
void CopySteps(const RowsView& from, const uint8_t* source, int64_t to_pitch,
               uint8_t* target) {
  for (int64_t row = 0; row < from.rows; ++row) {
    for (int64_t at = 0; at < from.row_bytes; at += kStep) {
      std::memcpy(target + at, source + at, kStep);
    }
    source += from.pitch;
    target += to_pitch;
  }
}

// Rows in their order; those of `from` may overlap each other.
void CopyRows(const RowsView& from, const uint8_t* source, const RowsView& to,
              uint8_t* target) {
  constexpr int64_t kShort = 128;
  if (from.dense() && to.dense()) {
    std::memcpy(target, source, from.rows * from.row_bytes);
  } else if (from.row_bytes % 16 == 0 && from.row_bytes <= kShort) {
    CopySteps<16>(from, source, to.pitch, target);
  } else if (from.row_bytes % 8 == 0 && from.row_bytes <= kShort) {
    CopySteps<8>(from, source, to.pitch, target);
  } else {
    for (int64_t row = 0; row < from.rows; ++row) {
      std::memcpy(target + row * to.pitch, source + row * from.pitch,
                  from.row_bytes);
    }
  }
}

// Null where keeping takes much more than the constants themselves: lanes of
// channels that are not there hold zeros.
std::unique_ptr<KeptConstants> NewKeptConstants(const Instruction& instruction,
                                                CpuPath cpu_path) {
  const int64_t bytes = WideConvolution::MaxPreparedBytes(instruction);
  if (!UsesAvx512(cpu_path) || bytes > 2 * WeightBytes(instruction) + 4096) {
    return nullptr;
  }
  auto kept = std::make_unique<KeptConstants>();
  // Now, so that a loaded program has the size that it will have.
  kept->prepared.weights.reserve(bytes);
  return kept;
}

// Constants that runs need not move, by instruction.
struct Constants {
  std::vector<ConstantOperands> operands;
  // Null where nothing is kept.
  std::vector<std::unique_ptr<KeptConstants>> kept;
};

class DlaRun : public StreamRun {
 public:
  // `constants` is null unless they may be used.
  DlaRun(const std::vector<Instruction>& instructions, int32_t scratchpad,
         int64_t sram_bytes, const StreamContext& context,
         const Constants* constants, ChipMemory& memory, RunMode mode)
      : instructions_(instructions),
        context_(context),
        constants_(constants),
        sram_(memory.scratchpad(scratchpad)),
        memory_(memory) {
    if (mode != RunMode::kFast) checker_.emplace(scratchpad, context, memory);
    if (mode != RunMode::kCheckOnly) {
      convolution_.emplace(context, sram_, sram_bytes);
    }
  }

  absl::Status RunUntil(int32_t end_word) override {
    while (next_ < instructions_.size() &&
           instructions_[next_].word < end_word) {
      const size_t index = next_++;
      const Instruction& instruction = instructions_[index];
      if (checker_) EK_RETURN_IF_ERROR(checker_->Check(instruction));
      if (convolution_) EK_RETURN_IF_ERROR(Execute(index));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Execute(size_t index) {
    const Instruction& instruction = instructions_[index];
    if (constants_ != nullptr) {
      const ConstantOperands& operands = constants_->operands[index];
      if (operands.unneeded) return absl::OkStatus();
      if (operands.known()) return ExecuteKept(instruction, index);
    }
    if (instruction.is_dma()) return Transfer(instruction);
    if (instruction.command == DlaCommand::kPool) {
      ExecutePool(instruction, sram_);
      return absl::OkStatus();
    }
    if (IsElementWise(instruction.command)) {
      return ExecuteElementWise(instruction, context_, sram_);
    }
    return convolution_->Execute(instruction);
  }

  absl::Status ExecuteKept(const Instruction& instruction, size_t index) {
    const ConstantOperands& operands = constants_->operands[index];
    const uint8_t* weights = memory_.Find(operands.weights, 1);
    const uint8_t* table = memory_.Find(operands.table, 1);
    if (weights == nullptr || table == nullptr) return NotMapped(instruction);
    return convolution_->ExecuteWith(instruction, weights, table,
                                     constants_->kept[index].get());
  }

  absl::Status NotMapped(const Instruction& instruction) const {
    return ProgramError(instruction, context_,
                        "the session maps no memory there", "");
  }

  absl::Status Transfer(const Instruction& instruction) {
    const RowsView system = SystemView(instruction);
    const RowsView sram = SramView(instruction);
    uint8_t* there = memory_.Find(system.address, system.extent());
    if (there == nullptr) return NotMapped(instruction);
    if (instruction.command == DlaCommand::kDmaRead) {
      CopyRows(system, there, sram, sram_ + sram.address);
    } else {
      CopyRows(sram, sram_ + sram.address, system, there);
    }
    return absl::OkStatus();
  }

  const std::vector<Instruction>& instructions_;
  const StreamContext& context_;
  const Constants* constants_;
  uint8_t* sram_;
  ChipMemory& memory_;
  std::optional<ConvolutionUnit> convolution_;  // Absent: only checks.
  std::optional<AccessChecker> checker_;
  size_t next_ = 0;
};

class DlaStream : public EngineStream {
 public:
  DlaStream(int32_t scratchpad, DecodedStream decoded, Reach reach,
            StreamTiming timing, StreamContext context)
      : scratchpad_(scratchpad),
        decoded_(std::move(decoded)),
        reach_(std::move(reach)),
        timing_(std::move(timing)),
        context_(std::move(context)) {}

  void KeepConstants(absl::Span<const ShownRange> shown) override {
    constants_.operands = FindConstantOperands(decoded_.instructions, context_,
                                               reach_.sram_end, shown);
    constants_.kept.resize(constants_.operands.size());
    for (size_t i = 0; i < constants_.kept.size(); ++i) {
      if (!constants_.operands[i].known()) continue;
      constants_.kept[i] =
          NewKeptConstants(decoded_.instructions[i], context_.cpu_path);
    }
  }

  int32_t num_words() const override { return decoded_.num_words; }
  const StreamTiming& timing() const override { return timing_; }
  int64_t scratchpad_extent(int32_t /*memory*/) const override {
    return reach_.sram_end;
  }
  const std::vector<SystemRange>& system_ranges() const override {
    return reach_.system;
  }
  std::unique_ptr<StreamRun> Start(ChipMemory& memory,
                                   RunMode mode) const override {
    const bool keeps = mode == RunMode::kFast && !constants_.operands.empty();
    return std::make_unique<DlaRun>(
        decoded_.instructions, scratchpad_, reach_.sram_end, context_,
        keeps ? &constants_ : nullptr, memory, mode);
  }

 private:
  int32_t scratchpad_;  // Index of its memory.
  DecodedStream decoded_;
  Reach reach_;
  StreamTiming timing_;
  StreamContext context_;
  Constants constants_;  // Nothing before KeepConstants().
};

class DlaSimulator : public EngineSimulator {
 public:
  absl::StatusOr<std::unique_ptr<EngineStream>> Load(
      absl::string_view code, const v1::Machine& machine,
      StreamContext context) const override {
    const v1::Machine::Engine& engine = machine.engines(context.engine);
    EK_ASSIGN_OR_RETURN(DecodedStream decoded,
                        DecodeStream(code, machine, engine, context));
    Reach reach;
    for (const Instruction& instruction : decoded.instructions) {
      EK_RETURN_IF_ERROR(CheckLimits(instruction, context, &reach));
    }
    const v1::ResolvedLink& dma = *target::OnlyLinkOf(machine, context.engine);
    EK_ASSIGN_OR_RETURN(
        StreamTiming timing,
        TimeStream(decoded, engine,
                   dma.contention() == v1::LinkDescriptor::BLOCKING));
    const int32_t sram = target::PrivateMemoryOf(machine, context.engine);
    return std::make_unique<DlaStream>(sram, std::move(decoded),
                                       std::move(reach), std::move(timing),
                                       std::move(context));
  }
};

}  // namespace

std::unique_ptr<EngineSimulator> NewSimulator() {
  return std::make_unique<DlaSimulator>();
}

}  // namespace edgekiln::simfarm::dla
