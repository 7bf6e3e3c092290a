#include "simfarm/simulators/dla/stream.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "simfarm/simulators/dla/access.h"
#include "simfarm/simulators/dla/check.h"
#include "simfarm/simulators/dla/convolution.h"
#include "simfarm/simulators/dla/decode.h"
#include "simfarm/simulators/dla/element_wise.h"
#include "simfarm/simulators/dla/limits.h"
#include "simfarm/simulators/dla/timing.h"

namespace edgekiln::simfarm::dla {
namespace {

// System memory from the first to the last byte of a transfer that passed
// CheckLimits().
int64_t SystemExtent(const Instruction& transfer) {
  const int64_t rows = transfer[DlaRegister::kDmaRows];
  const int64_t bytes = transfer[DlaRegister::kDmaRowBytes];
  return rows == 1
             ? bytes
             : (rows - 1) * transfer[DlaRegister::kDmaSystemPitch] + bytes;
}

class DlaRun : public StreamRun {
 public:
  DlaRun(const std::vector<Instruction>& instructions, int64_t sram_bytes,
         const StreamContext& context, uint8_t* sram, SystemMemory& memory,
         RunMode mode)
      : instructions_(instructions),
        context_(context),
        sram_(sram),
        memory_(memory),
        convolution_(context, sram, sram_bytes) {
    if (mode == RunMode::kChecked) {
      checker_.emplace(sram_bytes, context, memory);
    }
  }

  absl::Status RunUntil(int32_t end_word) override {
    while (next_ < instructions_.size() &&
           instructions_[next_].word < end_word) {
      const Instruction& instruction = instructions_[next_++];
      if (checker_) EK_RETURN_IF_ERROR(checker_->Check(instruction));
      EK_RETURN_IF_ERROR(Execute(instruction));
    }
    return absl::OkStatus();
  }

  int64_t FindUndefined(int64_t address, int64_t size) const override {
    return checker_ ? checker_->FindUndefined(address, size) : -1;
  }

 private:
  absl::Status Execute(const Instruction& instruction) {
    if (instruction.is_dma()) return Transfer(instruction);
    if (instruction.command == DlaCommand::kPool) {
      ExecutePool(instruction, sram_);
      return absl::OkStatus();
    }
    if (IsElementWise(instruction.command)) {
      return ExecuteElementWise(instruction, context_, sram_);
    }
    return convolution_.Execute(instruction);
  }

  absl::Status Transfer(const Instruction& instruction) {
    const bool to_sram = instruction.command == DlaCommand::kDmaRead;
    // All rows at once where they lie in one region.
    const int64_t first = instruction[DlaRegister::kDmaSystemAddr];
    uint8_t* all = memory_.Find(first, SystemExtent(instruction));
    const bool inside = VisitTransfer(
        instruction, [&](int64_t system, int64_t sram, int64_t bytes) {
          uint8_t* there = all != nullptr ? all + (system - first)
                                          : memory_.Find(system, bytes);
          if (there == nullptr) return false;
          if (to_sram) {
            std::memcpy(sram_ + sram, there, bytes);
          } else {
            std::memcpy(there, sram_ + sram, bytes);
          }
          return true;
        });
    if (inside) return absl::OkStatus();
    return ProgramError(instruction, context_,
                        "the session maps no memory there", "");
  }

  const std::vector<Instruction>& instructions_;
  const StreamContext& context_;
  uint8_t* sram_;
  SystemMemory& memory_;
  ConvolutionUnit convolution_;
  std::optional<AccessChecker> checker_;
  size_t next_ = 0;
};

class DlaStream : public EngineStream {
 public:
  DlaStream(DecodedStream decoded, Reach reach, StreamTiming timing,
            StreamContext context)
      : decoded_(std::move(decoded)),
        reach_(std::move(reach)),
        timing_(std::move(timing)),
        context_(std::move(context)) {}

  int32_t num_words() const override { return decoded_.num_words; }
  const StreamTiming& timing() const override { return timing_; }
  int64_t scratchpad_extent() const override { return reach_.sram_end; }
  const std::vector<SystemRange>& system_ranges() const override {
    return reach_.system;
  }
  std::unique_ptr<StreamRun> Start(uint8_t* scratchpad, SystemMemory& memory,
                                   RunMode mode) const override {
    return std::make_unique<DlaRun>(decoded_.instructions, reach_.sram_end,
                                    context_, scratchpad, memory, mode);
  }

 private:
  DecodedStream decoded_;
  Reach reach_;
  StreamTiming timing_;
  StreamContext context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EngineStream>> LoadStream(
    absl::string_view code, const v1::Machine& machine,
    const v1::Machine::Engine& engine, StreamContext context) {
  EK_ASSIGN_OR_RETURN(DecodedStream decoded,
                      DecodeStream(code, machine, engine, context));
  Reach reach;
  for (const Instruction& instruction : decoded.instructions) {
    EK_RETURN_IF_ERROR(CheckLimits(instruction, context, &reach));
  }
  EK_ASSIGN_OR_RETURN(StreamTiming timing, TimeStream(decoded, engine));
  return std::make_unique<DlaStream>(std::move(decoded), std::move(reach),
                                     std::move(timing), std::move(context));
}

}  // namespace edgekiln::simfarm::dla
