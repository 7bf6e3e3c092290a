#include "server/daemon/stages/stage_counts.h"

#include "server/daemon/fairness/wait_estimate.h"

namespace edgekiln::server {

void StageCounts::Add(const std::string& name,
                      const v1::DaemonStatus::Stage& more) {
  MutexLock lock(mutex_);
  v1::DaemonStatus::Stage& stage = by_name_[StageKind(name)];
  stage.set_executed(stage.executed() + more.executed());
  stage.set_hit(stage.hit() + more.hit());
  stage.set_joined(stage.joined() + more.joined());
  stage.set_failed(stage.failed() + more.failed());
  stage.set_cpu_seconds(stage.cpu_seconds() + more.cpu_seconds());
  stage.set_wall_seconds(stage.wall_seconds() + more.wall_seconds());
}

void StageCounts::AppendTo(v1::DaemonStatus& status) {
  MutexLock lock(mutex_);
  for (const auto& [name, stage] : by_name_) {
    v1::DaemonStatus::Stage& added = *status.add_stages();
    added = stage;
    added.set_name(name);
  }
}

}  // namespace edgekiln::server
