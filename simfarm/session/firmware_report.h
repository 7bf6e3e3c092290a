#ifndef EK_SIMFARM_SESSION_FIRMWARE_REPORT_H_
#define EK_SIMFARM_SESSION_FIRMWARE_REPORT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/timeline.pb.h"
#include "simfarm/session/firmware_machine.h"
#include "simfarm/session/firmware_program.h"

namespace edgekiln::simfarm {

// Of one inference, on the wall clock. The host alone works, on one layer after
// the other; with segments, if the program's options ask for them. OUT_OF_RANGE
// for more than 2^62 cycles.
absl::StatusOr<v1::SimReport> MakeFirmwareReport(
    const FirmwareProgram& firmware, const InferenceCount& count,
    int64_t setup_instructions);

// Of such a report: see Session::MakeTimeline().
v1::Timeline MakeFirmwareTimeline(const FirmwareProgram& firmware,
                                  const v1::SimReport& report);

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_FIRMWARE_REPORT_H_
