#ifndef EK_SERVER_ACCURACY_STAGES_H_
#define EK_SERVER_ACCURACY_STAGES_H_

// What a validation does for one target once its samples were simulated: the
// stages that score values, and Report.accuracy.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/model_stages.h"
#include "server/stage_results.h"
#include "server/target_stages.h"
#include "server/task.h"

namespace edgekiln::server {

class AccuracyStages {
 public:
  // The arguments must outlive it, as those of Run() must outlive its task.
  AccuracyStages(const v1::CreateJobRequest& request, const ModelStages& model,
                 TargetRun& run)
      : request_(request), model_(model), run_(run) {}

  // `metric` was chosen for `data`, the chip's, whose samples both sides have
  // computed.
  Task<absl::Status> Run(v1::Metric metric, const Data& data,
                         const Computed& chip, const Computed& reference);

 private:
  using Scores = v1::StageSummary::Samples;

  Task<absl::Status> Score(std::string name, const v1::ScoreOptions& measure,
                           const Values& outputs, const Values& reference,
                           const std::vector<v1::BlobRef>& labels,
                           Scores& scores);
  Task<absl::Status> ScoreReconstructions(const Data& data, const Values& chip,
                                          const Values& reference);
  Task<absl::Status> ScoreErrors(v1::Metric metric, const Values& chip,
                                 const Values& reference);

  const v1::CreateJobRequest& request_;
  const ModelStages& model_;
  TargetRun& run_;
  Scores chip_scores_;
  Scores reference_scores_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_ACCURACY_STAGES_H_
