#ifndef EK_SERVER_DAEMON_JOBS_RUNNING_SWEEP_H_
#define EK_SERVER_DAEMON_JOBS_RUNNING_SWEEP_H_

#include "absl/status/status.h"

namespace edgekiln::server {

// Why a job of a cell ends with its sweep.
absl::Status SweepEnded();

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_RUNNING_SWEEP_H_
