#ifndef EK_SERVER_STAGE_SEQUENCE_H_
#define EK_SERVER_STAGE_SEQUENCE_H_

// The stages that one part of a job has started.

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/job_context.h"

namespace edgekiln::server {

// A stage of a sequence. Knows whether its result was asked for. Thread-safe,
// as every PendingStage.
class SequenceStage final : public PendingStage {
 public:
  explicit SequenceStage(std::shared_ptr<PendingStage> stage)
      : stage_(std::move(stage)) {}

  absl::StatusOr<v1::StageResult> Wait() override {
    awaited_ = true;
    return stage_->Wait();
  }
  v1::Report::Stage Record() override { return stage_->Record(); }
  bool awaited() const { return awaited_; }

 private:
  const std::shared_ptr<PendingStage> stage_;
  std::atomic<bool> awaited_ = false;
};

// For one target, or for all of them. Not thread-safe.
class StageSequence {
 public:
  static constexpr int kAllTargets = -1;

  // `context` must outlive it.
  StageSequence(JobContext& context, int target)
      : context_(&context), target_(target) {}

  std::shared_ptr<PendingStage> Start(std::string name,
                                      v1::StageOptions options,
                                      std::vector<v1::BlobRef> inputs) {
    stages_.push_back(std::make_shared<SequenceStage>(context_->Start(
        {std::move(name), target_, std::move(options), std::move(inputs)})));
    return stages_.back();
  }

  // Starts it and blocks until it is over.
  absl::StatusOr<v1::StageResult> Do(std::string name, v1::StageOptions options,
                                     std::vector<v1::BlobRef> inputs) {
    return Start(std::move(name), std::move(options), std::move(inputs))
        ->Wait();
  }

  // In the order in which they were started.
  const std::vector<std::shared_ptr<SequenceStage>>& stages() const {
    return stages_;
  }
  int target() const { return target_; }

 private:
  JobContext* context_;
  int target_;
  std::vector<std::shared_ptr<SequenceStage>> stages_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_STAGE_SEQUENCE_H_
