#ifndef EK_SERVER_JOB_CONTEXT_H_
#define EK_SERVER_JOB_CONTEXT_H_

// What compile_job.cc needs from around it. Implemented by the daemon over
// cache and workers, and by tests over plain functions.

#include <coroutine>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/firmware.pb.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/report.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/executor.h"
#include "server/task.h"

namespace edgekiln::server {

// One stage of a job, ready to be looked up or executed.
struct StageCall {
  std::string name;  // As in Report.stages: "tile", "simulate[3]".
  int target = -1;   // Index into the request's targets; -1: all of them.
  v1::StageOptions options = {};
  std::vector<v1::BlobRef> inputs = {};
  // StageSummary.Target.parts of the target that it runs for.
  std::vector<std::string> parts = {};
  // What follows if it succeeds, in order: may be executed along with it (see
  // docs/design/0032-chains-of-stages.md), and is to be started all the same.
  // Inputs that earlier stages of the chain make have a role and no digest.
  std::vector<StageCall> next = {};
  // Of a stage that may take long, what its time depends on most: it goes with
  // a chain only after one with the same `work` was short. Empty: it is short.
  std::string work = {};
};

// A stage that was started. Thread-safe; the last owner that lets go of an
// unfinished one gives it up.
class PendingStage {
 public:
  virtual ~PendingStage() = default;
  // Null until the stage is over; from then on the same, and valid as long as
  // this object. A user error of the stage, an infrastructure failure
  // (Fault::kInfra, names the stage) and CANCELLED come as status.
  virtual const absl::StatusOr<v1::StageResult>* Result() = 0;
  // Posts `work` in `executor` once there is a result. False if there is one
  // already: then nothing is posted.
  virtual bool PostOnceOver(Executor::Work& work, Executor& executor) = 0;
  // How the result was come by. Empty name until the stage is over, and for
  // stages that were cancelled.
  virtual v1::Report::Stage Record() = 0;
};

// What a task awaits to get the result of a stage; valid as long as the stage.
class StageAwaiter {
 public:
  explicit StageAwaiter(std::shared_ptr<PendingStage> stage)
      : stage_(std::move(stage)) {}
  bool await_ready() { return stage_->Result() != nullptr; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> awaiting) {
    resumption_.handle = awaiting;
    return stage_->PostOnceOver(resumption_, *awaiting.promise().executor);
  }
  const absl::StatusOr<v1::StageResult>& await_resume() {
    return *stage_->Result();
  }

 private:
  const std::shared_ptr<PendingStage> stage_;
  internal::Resumption resumption_;
};

inline StageAwaiter ResultOf(std::shared_ptr<PendingStage> stage) {
  return StageAwaiter(std::move(stage));
}

// Thread-safe.
class JobContext {
 public:
  virtual ~JobContext() = default;
  // Looks the stage up and, if its result is not there, has it executed.
  virtual std::shared_ptr<PendingStage> Start(StageCall call) = 0;
  // Others will start these soon, as stages of their own: they may be executed
  // in one lease by then.
  virtual void Prefetch(const std::vector<StageCall>& /*calls*/) {}
  // The compiler that a stage of this family and program would run now. Absent:
  // no worker has shown one yet; then the stage says only which it wants.
  virtual std::optional<v1::Compiler> FindCompiler(
      v1::CompilerFamily family, const std::string& program) = 0;
  // For those who watch: running totals of simulated samples, and the cycles of
  // a target.
  virtual void OnSamples(const v1::JobEvent::Samples& samples) = 0;
  virtual void OnCounted(const v1::JobEvent::Counted& counted) = 0;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_JOB_CONTEXT_H_
