#ifndef EK_SIMFARM_SESSION_FIRMWARE_MACHINE_H_
#define EK_SIMFARM_SESSION_FIRMWARE_MACHINE_H_

// A simulated core with firmware in its memory.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "simfarm/session/firmware_profile.h"
#include "simfarm/session/firmware_program.h"
#include "simfarm/session/layer_observer.h"
#include "simfarm/session/session.h"
#include "simfarm/simulators/rv32/devices.h"
#include "simfarm/simulators/rv32/machine.h"
#include "simfarm/simulators/rv32/symbols.h"

namespace edgekiln::simfarm {

// What an inference took, of the core's clock. Layers sum to the total, unless
// there are none.
struct InferenceCount {
  int64_t instructions = 0;
  int64_t cycles = 0;
  std::vector<int64_t> layer_cycles;
};

// Not thread-safe. After an error it is of no more use.
class FirmwareMachine {
 public:
  // With the ELF file loaded. A checked one is profiled where the session's
  // options say so. INVALID_ARGUMENT if that fits no memory, or the
  // memories do not fit the core.
  static absl::StatusOr<std::unique_ptr<FirmwareMachine>> Create(
      std::shared_ptr<const FirmwareProgram> firmware, bool checked);

  // Runs from the entry to the end of setup. To be called once, first. Errors:
  // FAILED_PRECONDITION, with layer, function and address.
  absl::Status SetUp();
  int64_t setup_instructions() const { return setup_instructions_; }
  // Of the last inference; null unless it was to be profiled.
  std::shared_ptr<const FirmwareProfile> profile() const { return profile_; }

  // One inference. `inputs` has the dense value of each input; `outputs` gets
  // those of all outputs. Errors as of SetUp(), and of the visitor;
  // INVALID_ARGUMENT with reason INDEX_RANGE where a layer met an index out of
  // range.
  absl::StatusOr<InferenceCount> Infer(
      absl::Span<const absl::string_view> inputs, const TapVisitor& visit_tap,
      std::vector<std::string>* outputs);

 private:
  explicit FirmwareMachine(std::shared_ptr<const FirmwareProgram> firmware)
      : firmware_(std::move(firmware)),
        observer_(*firmware_),
        symbols_(firmware_->executable.functions) {}

  // Runs until the exit device is written, and gives its code.
  absl::StatusOr<int32_t> RunToExit(int64_t max_instructions);
  absl::Status ErrorOf(const rv32::Fault& fault) const;
  absl::Status LimitError(int64_t max_instructions) const;
  absl::Status ExitError(int32_t code) const;

  std::shared_ptr<const FirmwareProgram> firmware_;
  LayerObserver observer_;
  rv32::SymbolTable symbols_;
  rv32::ExitDevice exit_;
  std::unique_ptr<rv32::Machine> machine_;
  int64_t setup_instructions_ = 0;
  std::optional<ProfileRecorder> recorder_;  // If inferences are profiled.
  std::shared_ptr<const FirmwareProfile> profile_;
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_FIRMWARE_MACHINE_H_
