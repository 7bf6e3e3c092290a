#ifndef EK_SERVER_DAEMON_DAEMON_STATUS_H_
#define EK_SERVER_DAEMON_DAEMON_STATUS_H_

// What the daemon says of itself, gathered from its parts.

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cache/evictor.h"
#include "edgekiln/v1/daemon.pb.h"
#include "server/daemon/daemon.h"
#include "server/daemon/farm/dispatcher.h"
#include "server/daemon/farm/quarantine.h"
#include "server/daemon/jobs/job_manager.h"
#include "server/daemon/jobs/job_watchers.h"
#include "server/daemon/listener.h"
#include "server/daemon/stages/stage_runner.h"

namespace edgekiln::server {

// All must exist while they are asked, but need not be started.
struct StatusSources {
  const DaemonOptions& options;
  JobManager& jobs;
  JobWatchers& watchers;
  Dispatcher& dispatcher;
  StageRunner& stages;
  Quarantine& quarantine;
  cache::Evictor& evictor;
  Listener& clients;
  Listener& workers;
};

// Thread-safe; does not block. `ready`: whether jobs are taken.
v1::DaemonStatus DescribeDaemon(const StatusSources& sources,
                                const absl::Status& ready, absl::Time started,
                                absl::Time now);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_DAEMON_STATUS_H_
