#ifndef EK_SERVER_DAEMON_STAGES_STAGE_GROUP_H_
#define EK_SERVER_DAEMON_STAGES_STAGE_GROUP_H_

// The stages of one request: started together, cancelled together. Thread-safe.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/job_context.h"

namespace edgekiln::server {

// One of the group's stages; those of two targets may share a name.
struct StageId {
  std::string name;
  int target = -1;  // As StageCall.target.

  bool operator<(const StageId& other) const {
    return std::tie(name, target) < std::tie(other.name, other.target);
  }
};

// What the group tells its owner. Called from any thread; any may be empty.
// They are copied into callbacks that may outlive the group.
struct StageGroupHooks {
  std::function<void(const StageId&)> started;
  std::function<void(const StageId&, const v1::StageProgress&)> progress;
  std::function<void(const StageId&, const v1::JobEvent::Waiting&)> waiting;
  std::function<void(const StageId&, const v1::Report::Stage&)> finished;
  // Of the stage's result, just before `finished`.
  std::function<void(const StageId&, const std::string&)> warned;
  std::function<void(const v1::JobEvent::Samples&)> samples;
  std::function<void(const v1::JobEvent::Counted&)> counted;
};

class StageGroup : public JobContext {
 public:
  // `runner` must outlive the group.
  StageGroup(StageRunner& runner, StageGroupHooks hooks, LeaseOwner owner = {})
      : runner_(runner), hooks_(std::move(hooks)), owner_(std::move(owner)) {}

  ~StageGroup() override;  // As DropPrefetched().

  std::shared_ptr<PendingStage> Start(StageCall call) override;
  std::optional<v1::Compiler> FindCompiler(
      v1::CompilerFamily family, const std::string& program) override {
    return runner_.FindCompiler(family, program);
  }
  void Prefetch(const std::vector<StageCall>& calls) override;
  void OnSamples(const v1::JobEvent::Samples& samples) override;
  void OnCounted(const v1::JobEvent::Counted& counted) override;

  // What was prefetched and nobody has started is not executed any more.
  void DropPrefetched();

  // Every stage that is not over, and every later one, ends with `why`. The
  // first call counts.
  void Cancel(const absl::Status& why);

 private:
  StageRunner& runner_;
  const StageGroupHooks hooks_;
  const LeaseOwner owner_;
  Mutex mutex_;
  absl::Status cancelled_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<StageTicket>> tickets_ ABSL_GUARDED_BY(mutex_);
  // Forget dead tickets at that many.
  size_t sweep_at_ ABSL_GUARDED_BY(mutex_) = 64;
  std::vector<StageRunner::Prefetched> prefetched_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STAGES_STAGE_GROUP_H_
