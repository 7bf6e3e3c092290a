#ifndef EK_SERVER_REQUANTIZATION_H_
#define EK_SERVER_REQUANTIZATION_H_

// A model that came quantized, for targets whose engines take more of it once
// it is quantized anew: the float network that its integers stand for, and its
// ranges. One for all targets of a job; what tells them apart is the target's
// own stage `unquantize`.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/report.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/job_context.h"
#include "server/model_stages.h"
#include "server/stage_sequence.h"
#include "server/target_stages.h"
#include "server/task.h"

namespace edgekiln::server {

// What is const may be called from several threads.
class Requantization {
 public:
  // The arguments must outlive it.
  Requantization(const v1::CreateJobRequest& request, JobContext& context,
                 const ModelStages& model)
      : request_(request),
        model_(model),
        stages_(context, StageSequence::kAllTargets) {}

  // Starts the stage that decides for the run's target, of an imported model;
  // `capabilities` are the target's, null without one. Does nothing where
  // integers stay as they are: those of a document, and if the request says so.
  void Start(const v1::BlobRef* capabilities, TargetRun& run) const;
  // Sets run.requantized. The error is that of the stage.
  Task<absl::Status> Decide(TargetRun& run);
  // Whether that holds for any target so far.
  bool exists() const { return !graph_.digest().hash().empty(); }
  // Of the float network; if it exists.
  const v1::BlobRef& outline() const { return outline_; }
  // Finds the ranges of the float network: from calibration data, else those
  // that its integers had, else from random inputs.
  Task<absl::Status> Calibrate();

  // After Calibrate(), what `quantize` and `choose` read of the float network:
  // graph, statistics, chunks if there are calibration data.
  std::vector<v1::BlobRef> CalibratedModel() const;
  // And what `quantize` compares its result with: the model as it came, and
  // chunks of random inputs where there are no data.
  std::vector<v1::BlobRef> ComparedWith() const;
  // As Report.calibration: "" if ranges are those of the model's integers.
  const std::string& calibration() const { return calibration_; }
  const StageSequence& stages() const { return stages_; }

 private:
  const v1::CreateJobRequest& request_;
  const ModelStages& model_;
  StageSequence stages_;
  v1::BlobRef graph_;
  v1::BlobRef outline_;
  v1::BlobRef statistics_;            // No digest: not known.
  std::vector<v1::BlobRef> samples_;  // Of the calibration data.
  std::vector<v1::BlobRef> trial_;    // Random inputs, where there are none.
  std::string calibration_;
};

// Says in the report of `run`, whose calibration is set, that its model was
// quantized anew, why, and how far outputs moved; or that a file which asks for
// something else is not used.
void ReportRequantization(const v1::CreateJobRequest& request,
                          const ModelStages& model, TargetRun& run);

}  // namespace edgekiln::server

#endif  // EK_SERVER_REQUANTIZATION_H_
