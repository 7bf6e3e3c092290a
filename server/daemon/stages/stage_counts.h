#ifndef EK_SERVER_DAEMON_STAGES_STAGE_COUNTS_H_
#define EK_SERVER_DAEMON_STAGES_STAGE_COUNTS_H_

// How many stages of each name were executed, found or shared since the start
// of the daemon, and what they cost. Thread-safe.

#include <map>
#include <string>

#include "base/mutex.h"
#include "edgekiln/v1/daemon.pb.h"

namespace edgekiln::server {

class StageCounts {
 public:
  // Adds the numbers of `more` to those of the stage. The name may be that of a
  // chunk, see StageKind().
  void Add(const std::string& name, const v1::DaemonStatus::Stage& more);
  // Appends one entry for each name, in their order.
  void AppendTo(v1::DaemonStatus& status);

 private:
  Mutex mutex_;
  std::map<std::string, v1::DaemonStatus::Stage> by_name_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STAGES_STAGE_COUNTS_H_
