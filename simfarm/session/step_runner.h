#ifndef EK_SIMFARM_SESSION_STEP_RUNNER_H_
#define EK_SIMFARM_SESSION_STEP_RUNNER_H_

// Executes the steps of a program on the memory of one chip.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "edgekiln/v1/program.pb.h"
#include "simfarm/session/loaded_program.h"
#include "simfarm/session/session.h"
#include "simfarm/simulators/chip_memory.h"
#include "simfarm/simulators/mmio_device.h"
#include "target/layout.h"

namespace edgekiln::simfarm {

// Not thread-safe.
class StepRunner {
 public:
  // Both must outlive this. `chip` has the program's memories before the first
  // run.
  StepRunner(const LoadedProgram& loaded, ChipMemory& chip)
      : loaded_(loaded), chip_(chip), devices_(loaded.simulators.size()) {}

  // All steps. Errors name the step.
  absl::Status Run(const TapVisitor& visit_tap, RunMode mode);

  // Records, in runs with checks, that `who` reads the array at `location`, in
  // any memory but scratchpads. Errors name `what`.
  absl::Status Read(int32_t who, const v1::Location& location,
                    const target::Layout& layout, const std::string& what);

 private:
  absl::Status ResetDevices(RunMode mode);
  absl::Status RunStep(int index, const TapVisitor& visit_tap, RunMode mode);
  absl::Status RunHostOp(const v1::Program::HostOp& op, const HostOp& host,
                         RunMode mode);
  absl::Status RunMove(const v1::Program::Move& move, const LoadedStep& loaded,
                       RunMode mode);
  absl::Status RunStream(const LoadedStream& stream,
                         const TapVisitor& visit_tap, RunMode mode);
  absl::Status WriteRegisters(const v1::Program::RegisterWrites& writes);
  absl::Status Write(int32_t who, const v1::Location& location,
                     const target::Layout& layout, const std::string& what);
  // Read() and Write(), which ChipMemory's `method` records.
  template <typename Method>
  absl::Status Access(Method method, int32_t who, const v1::Location& location,
                      const target::Layout& layout, const std::string& what);
  absl::Status CheckScratchpadTap(const LoadedStream& stream,
                                  const LoadedTap& tap, int64_t offset);
  absl::Status VisitTap(int32_t who, const LoadedTap& tap,
                        const TapVisitor& visit_tap, RunMode mode);
  absl::Status Visit(const LoadedTap& tap, const uint8_t* bytes,
                     const TapVisitor& visit_tap);

  const LoadedProgram& loaded_;
  ChipMemory& chip_;
  std::vector<std::unique_ptr<MmioDevice>> devices_;  // By engine; null: none.
  std::string packed_;
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_STEP_RUNNER_H_
