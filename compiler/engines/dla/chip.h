#ifndef EK_COMPILER_ENGINES_DLA_CHIP_H_
#define EK_COMPILER_ENGINES_DLA_CHIP_H_

#include <array>
#include <bitset>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "edgekiln/v1/target.pb.h"
#include "target/command_timing.h"
#include "target/isa_view.h"
#include "target/models/dla/commands.h"

// The machine as the backend needs it: sizes, and what a command costs.
namespace edgekiln::compiler::dla {

using target::DlaCommand;
using target::DlaRegister;

// Values of the registers a command depends on; others are unset.
class RegisterFile {
 public:
  void Set(DlaRegister reg, int64_t value) {
    values_[Index(reg)] = value;
    set_[Index(reg)] = true;
  }
  void Add(DlaRegister reg, int64_t value) { values_[Index(reg)] += value; }
  bool has(DlaRegister reg) const { return set_[Index(reg)]; }
  int64_t operator[](DlaRegister reg) const { return values_[Index(reg)]; }

 private:
  static size_t Index(DlaRegister reg) { return static_cast<size_t>(reg); }
  std::array<int64_t, target::kNumDlaRegisters> values_{};
  std::bitset<target::kNumDlaRegisters> set_;
};

// Immutable once created.
class Chip {
 public:
  // Of whose SRAM at most `sram_bytes` are used. INVALID_ARGUMENT if the
  // engine's instruction set lacks what its model has.
  static absl::StatusOr<Chip> Create(const v1::Machine& machine, int32_t engine,
                                     int64_t sram_bytes);
  // The same without a copy of the instruction set: `machine` must outlive it
  // and its copies unchanged.
  static absl::StatusOr<Chip> Borrow(const v1::Machine& machine, int32_t engine,
                                     int64_t sram_bytes);
  // The same chip, of whose SRAM this much is used.
  Chip WithSram(int64_t sram_bytes) const {
    Chip chip = *this;
    chip.sram_bytes_ = sram_bytes;
    return chip;
  }

  const target::IsaView& isa() const { return isa_; }
  int64_t sram_bytes() const { return sram_bytes_; }
  int32_t sram_memory() const { return sram_memory_; }
  int64_t dma_bytes_per_cycle() const { return dma_bytes_per_cycle_; }
  int64_t dma_setup_cycles() const { return dma_setup_cycles_; }
  int64_t queue_depth() const { return queue_depth_; }
  // Nothing overlaps: prefetching gains nothing.
  bool blocking_dma() const { return blocking_dma_; }
  int64_t macs_per_cycle() const { return macs_per_cycle_; }
  // The largest value of an unsigned register; 0 if the chip lacks it.
  int64_t Most(DlaRegister reg) const {
    return most_[static_cast<size_t>(reg)];
  }
  // Output rows that one command can produce. A chip that multiplies matrices
  // alone counts them in OUT_W.
  int64_t most_rows() const {
    const int64_t rows = Most(DlaRegister::kOutH);
    return rows > 0 ? rows : Most(DlaRegister::kOutW);
  }
  // It has the commands that add sums up.
  bool adds_sums() const {
    return position(DlaCommand::kAdd32) >= 0 &&
           position(DlaCommand::kRequant) >= 0;
  }
  // OP_REQUANT can round half to even.
  bool requant_rounds() const { return requant_rounds_; }

  int32_t position(DlaRegister reg) const {
    return registers_[static_cast<size_t>(reg)];
  }
  int32_t position(DlaCommand command) const {
    return commands_[static_cast<size_t>(command)];
  }
  int64_t IssueCycles(DlaCommand command) const {
    return timing_.IssueCycles(position(command));
  }
  absl::StatusOr<int64_t> OccupancyCycles(DlaCommand command,
                                          const RegisterFile& values) const;

 private:
  // `view`: one of IsaView's factories.
  static absl::StatusOr<Chip> Make(
      const v1::Machine& machine, int32_t engine, int64_t sram_bytes,
      absl::StatusOr<target::IsaView> (*view)(const v1::Isa&));

  Chip(target::IsaView isa, target::CommandTiming timing)
      : isa_(std::move(isa)), timing_(std::move(timing)) {}

  target::IsaView isa_;
  target::CommandTiming timing_;
  std::array<int32_t, target::kNumDlaRegisters> registers_{};
  std::array<int32_t, target::kNumDlaCommands> commands_{};
  // By command: the registers that its timing depends on, and their positions.
  std::array<std::vector<std::pair<DlaRegister, int32_t>>,
             target::kNumDlaCommands>
      timed_by_;
  std::array<int64_t, target::kNumDlaRegisters> most_{};
  int64_t sram_bytes_ = 0;
  int32_t sram_memory_ = 0;
  int64_t dma_bytes_per_cycle_ = 1;
  int64_t dma_setup_cycles_ = 0;
  int64_t queue_depth_ = 1;
  int64_t macs_per_cycle_ = 1;
  bool blocking_dma_ = false;
  bool requant_rounds_ = false;
};

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_CHIP_H_
