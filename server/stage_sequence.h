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
#include "server/executor.h"
#include "server/job_context.h"

namespace edgekiln::server {

// A stage of a sequence. Knows whether its result was asked for. Thread-safe,
// as every PendingStage.
class SequenceStage final : public PendingStage {
 public:
  explicit SequenceStage(std::shared_ptr<PendingStage> stage)
      : stage_(std::move(stage)) {}

  const absl::StatusOr<v1::StageResult>* Result() override {
    const absl::StatusOr<v1::StageResult>* const result = stage_->Result();
    if (result != nullptr) asked_ = true;
    return result;
  }
  bool PostOnceOver(Executor::Work& work, Executor& executor) override {
    return stage_->PostOnceOver(work, executor);
  }
  v1::Report::Stage Record() override { return stage_->Record(); }
  // Whether somebody has got its result, and uses it.
  bool asked() const { return asked_ && !dropped_; }
  // From now on, its result is not used.
  void Drop() { dropped_ = true; }

 private:
  const std::shared_ptr<PendingStage> stage_;
  std::atomic<bool> asked_ = false;
  std::atomic<bool> dropped_ = false;
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
    return Start({.name = std::move(name),
                  .options = std::move(options),
                  .inputs = std::move(inputs)});
  }

  // The same, with the target and the parts of this sequence, also of what
  // follows.
  std::shared_ptr<PendingStage> Start(StageCall call) {
    for (StageCall& next : call.next) Adopt(next);
    Adopt(call);
    stages_.push_back(
        std::make_shared<SequenceStage>(context_->Start(std::move(call))));
    return stages_.back();
  }

  // Another one takes the place of `stage`, one of this sequence: what it warns
  // of is not reported.
  void Drop(const std::shared_ptr<PendingStage>& stage) {
    for (const std::shared_ptr<SequenceStage>& own : stages_) {
      if (own == stage) own->Drop();
    }
  }

  // From now on, stages run for a target that uses these parts.
  void set_parts(std::vector<std::string> parts) { parts_ = std::move(parts); }

  // In the order in which they were started.
  const std::vector<std::shared_ptr<SequenceStage>>& stages() const {
    return stages_;
  }
  int target() const { return target_; }

 private:
  void Adopt(StageCall& call) const {
    call.target = target_;
    call.parts = parts_;
  }

  JobContext* context_;
  int target_;
  std::vector<std::string> parts_;
  std::vector<std::shared_ptr<SequenceStage>> stages_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_STAGE_SEQUENCE_H_
