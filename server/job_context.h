#ifndef EK_SERVER_JOB_CONTEXT_H_
#define EK_SERVER_JOB_CONTEXT_H_

// What compile_job.cc needs from around it. Implemented by the daemon over
// cache and workers, and by tests over plain functions.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/report.pb.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::server {

// One stage of a job, ready to be looked up or executed.
struct StageCall {
  std::string name;  // As in Report.stages: "tile", "simulate[3]".
  int target = -1;   // Index into the request's targets; -1: all of them.
  v1::StageOptions options;
  std::vector<v1::BlobRef> inputs;
};

// A stage that was started. Thread-safe; the last owner that lets go of an
// unfinished one gives it up.
class PendingStage {
 public:
  virtual ~PendingStage() = default;
  // Blocks until the stage is over. A user error of the stage, an
  // infrastructure failure (Fault::kInfra, names the stage) and CANCELLED come
  // as status. May be called again and from several threads.
  virtual absl::StatusOr<v1::StageResult> Wait() = 0;
  // How the result was come by. Empty name until the stage is over, and for
  // stages that were cancelled.
  virtual v1::Report::Stage Record() = 0;
};

// Thread-safe.
class JobContext {
 public:
  virtual ~JobContext() = default;
  // Looks the stage up and, if its result is not there, has it executed.
  virtual std::shared_ptr<PendingStage> Start(StageCall call) = 0;
  // Running totals of simulated samples, for those who watch.
  virtual void OnSamples(const v1::JobEvent::Samples& samples) = 0;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_JOB_CONTEXT_H_
