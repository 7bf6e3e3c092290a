#ifndef EK_SERVER_DAEMON_STAGES_RECALLED_STAGES_H_
#define EK_SERVER_DAEMON_STAGES_RECALLED_STAGES_H_

// The stages of a job whose results are all at hand: each is over as soon as it
// is started, and nothing is read or executed. Not thread-safe: the job runs in
// one thread.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/report.pb.h"
#include "server/daemon/stages/stage_log.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/job_context.h"

namespace edgekiln::server {

class RecalledStages final : public JobContext {
 public:
  // More stages take too long for a thread that has other things to do.
  static constexpr int kMaxStages = 64;

  // `runner` must outlive it.
  explicit RecalledStages(StageRunner& runner) : runner_(runner) {}

  // A stage that is not at hand fails, and so do all after it.
  std::shared_ptr<PendingStage> Start(StageCall call) override;
  std::optional<v1::Compiler> FindCompiler(
      v1::CompilerFamily family, const std::string& program) override {
    return runner_.FindCompiler(family, program);
  }
  void OnSamples(const v1::JobEvent::Samples& samples) override;
  void OnCounted(const v1::JobEvent::Counted& counted) override;

  // False once a stage was not at hand: what the job came to means nothing.
  bool complete() const { return complete_; }
  // In the order in which they were started.
  const std::vector<v1::Report::Stage>& records() const { return records_; }
  // What the job has to tell of them, in order.
  std::vector<v1::JobEvent>& events() { return events_; }

 private:
  StageRunner& runner_;
  bool complete_ = true;
  std::vector<v1::Report::Stage> records_;
  std::vector<v1::JobEvent> events_;
  WarningLog warnings_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STAGES_RECALLED_STAGES_H_
