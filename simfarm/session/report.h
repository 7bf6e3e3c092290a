#ifndef EK_SIMFARM_SESSION_REPORT_H_
#define EK_SIMFARM_SESSION_REPORT_H_

#include "absl/status/statusor.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/timeline.pb.h"
#include "simfarm/session/loaded_program.h"

namespace edgekiln::simfarm {

// Cycles of one inference, each given to exactly one layer: to that of the
// first engine, in the machine's order, that computes; else of the first that
// runs at all; else of the host's step. They sum to the total. Needs no run:
// cycles do not depend on data. With segments, if the program's options ask for
// them.
absl::StatusOr<v1::SimReport> MakeReport(const LoadedProgram& loaded);

// See Session::MakeTimeline().
absl::StatusOr<v1::Timeline> MakeTimeline(const LoadedProgram& loaded);

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_REPORT_H_
