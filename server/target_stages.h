#ifndef EK_SERVER_TARGET_STAGES_H_
#define EK_SERVER_TARGET_STAGES_H_

// What a job does for one target.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/report.pb.h"
#include "server/deployed_model.h"
#include "server/job_context.h"
#include "server/model_stages.h"
#include "server/stage_sequence.h"
#include "server/task.h"
#include "server/task_scope.h"

namespace edgekiln::server {

// How far it got, whether it failed or not.
struct TargetRun {
  StageSequence stages;  // Its target is an index into those of the request.
  std::shared_ptr<PendingStage> resolve = {};  // Null without a target.
  // Null without a target that could be resolved.
  std::shared_ptr<PendingStage> check_fit = {};
  // Not started yet: it goes with the stages that make the program.
  std::optional<StageCall> late_check_fit = {};
  // Null where the model's integers, or floats, are all there is.
  std::shared_ptr<PendingStage> unquantize = {};
  // Why a model that came quantized is quantized anew; empty if it is not.
  std::optional<std::string> requantized = {};
  // The model in the form this target needs; null if the target failed before.
  const DeployedModel* deployed = nullptr;
  v1::Report report;
  std::vector<v1::Artifact> artifacts = {};
  absl::Status status = {};
  absl::Status told = {};  // Whether those who watch were told of its cycles.

  void AddArtifact(const std::string& path, const v1::Digest& digest) {
    v1::Artifact& artifact = artifacts.emplace_back();
    artifact.set_path(path);
    *artifact.mutable_digest() = digest;
    artifact.set_target(stages.target());
  }
};

// Runs the stages of one target, from run.deployed to what the goals of
// `request` ask for: a program, its cycles, its values. Ends at the first stage
// that fails, with its error. The arguments must outlive the task and what it
// spawns in `beside`.
Task<absl::Status> RunOnTarget(const v1::CreateJobRequest& request,
                               const ModelStages& model, JobContext& context,
                               TaskScope& beside, TargetRun& run);

}  // namespace edgekiln::server

#endif  // EK_SERVER_TARGET_STAGES_H_
