#ifndef EK_SIMFARM_SIMULATORS_DLA_INSTRUCTION_H_
#define EK_SIMFARM_SIMULATORS_DLA_INSTRUCTION_H_

// One compute or DMA command with everything it depends on.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "simfarm/simulators/engine_stream.h"
#include "target/models/dla/commands.h"

namespace edgekiln::simfarm::dla {

using target::DlaCommand;
using target::DlaRegister;

struct Instruction {
  int32_t word = 0;  // Index of the command word in its stream.
  DlaCommand command = DlaCommand::kEnd;
  bool half_even = false;        // ROUNDING.
  int64_t wait = 0;              // Commands of the other unit to wait for.
  int64_t front_end_cycles = 0;  // Since the previous instruction, with decode.
  int64_t occupancy_cycles = 0;
  // Values at decode. Those that the command does not read may be undefined.
  std::array<int64_t, target::kNumDlaRegisters> registers{};

  int64_t operator[](DlaRegister reg) const {
    return registers[static_cast<int>(reg)];
  }
  bool is_dma() const {
    return command == DlaCommand::kDmaRead || command == DlaCommand::kDmaWrite;
  }
};

// A tensor in SRAM: element (y, x, c) lies at
// address + y * row_pitch + x * pixel_pitch + c * element_bytes.
struct TensorView {
  int64_t address = 0;
  int64_t row_pitch = 0;
  int64_t pixel_pitch = 0;
  int64_t h = 1;
  int64_t w = 1;
  int64_t c = 1;
  int64_t element_bytes = 1;

  int64_t PixelAddress(int64_t y, int64_t x) const {
    return address + y * row_pitch + x * pixel_pitch;
  }
  int64_t pixel_bytes() const { return c * element_bytes; }
  // One past the last byte.
  int64_t end() const { return PixelAddress(h - 1, w - 1) + pixel_bytes(); }
  bool SamePlaces(const TensorView& other) const {
    return address == other.address && row_pitch == other.row_pitch &&
           pixel_pitch == other.pixel_pitch &&
           element_bytes == other.element_bytes;
  }
};

// What kind of loop a command is.
bool IsConvolution(DlaCommand command);  // CONV, CONV_RELU, DEPTH_CONV.
bool IsWindowed(DlaCommand command);     // Those and POOL.
bool HasTable(DlaCommand command);
bool HasSecondInput(DlaCommand command);
// Output element i depends on element i of the inputs only.
bool IsElementWise(DlaCommand command);
// True if the result is int32 because of FLAGS.
bool WritesInt32(const Instruction& instruction);
// False for a command that rounds in other modes than the one it is in.
bool RoundsInMode(const Instruction& instruction);

// Compute commands only.
TensorView InputView(const Instruction& instruction);
TensorView Input2View(const Instruction& instruction);
TensorView OutputView(const Instruction& instruction);
int64_t WeightBytes(const Instruction& instruction);  // 0 without weights.

// An error of the program: names command index, mnemonic and layer.
// `address` may be empty: "SRAM 0x40".
absl::Status ProgramError(const Instruction& instruction,
                          const StreamContext& context, std::string what,
                          const std::string& address, std::string limit = "");
std::string SramAddress(int64_t address);
std::string SystemAddress(int64_t address);

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_INSTRUCTION_H_
