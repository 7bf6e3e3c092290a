#ifndef EK_SERVER_MODEL_STAGES_H_
#define EK_SERVER_MODEL_STAGES_H_

// The target-independent stages of a job: from the model file to the ranges of
// its tensors, and the reference's results on the data. server/deployed_model.h
// continues from here. A network document takes the place of all that.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/executor.h"
#include "server/job_context.h"
#include "server/stage_results.h"
#include "server/stage_sequence.h"
#include "server/task.h"
#include "server/task_scope.h"

namespace edgekiln::server {

// Report.calibration where nobody gave data to learn ranges from.
inline constexpr absl::string_view kSyntheticCalibration = "SYNTHETIC";

// The interpreter's totals, and the stages that they took.
struct Reference {
  StageSequence stages;
  Computed computed = {};
};

// What is const may be called from several threads. Errors are those of the
// first stage that fails.
class ModelStages {
 public:
  // The arguments must outlive it.
  ModelStages(const v1::CreateJobRequest& request, JobContext& context,
              Executor& executor)
      : request_(request),
        context_(context),
        stages_(context, StageSequence::kAllTargets),
        reference_task_(executor) {}

  // To be called in this order; the last ones where they are needed.
  Task<absl::Status> Import();  // Opens the document if the request has one.
  // Whoever wants accuracy or outputs must give data, unless the model has no
  // inputs.
  Task<absl::Status> CheckHasData();
  // Whether what a validation is asked to measure can be measured. Of a float
  // model, before it is calibrated; otherwise the data of DeployedModel tell.
  Task<absl::Status> CheckMetric();
  void StartCalibrationData();     // For Calibrate().
  Task<absl::Status> Calibrate();  // A float model, for a chip.
  void StartReference();           // Of a float model, on the same data.

  // Starts a stage, in `stages`, that converts `files` into chunks for `graph`,
  // or synthesizes data if there are no files and none are required.
  std::shared_ptr<PendingStage> StartConversion(const std::string& suffix,
                                                const v1::DataRef& files,
                                                const v1::BlobRef& graph,
                                                bool raw, int64_t limit,
                                                StageSequence& stages) const;

  // The same of the request's data as real values, for the model's inputs.
  std::shared_ptr<PendingStage> StartRealInputs(StageSequence& stages) const;

  // What the document says of its network; null for a request with a model.
  const v1::NetworkOrigin* document() const {
    return request_.has_document() ? &document_ : nullptr;
  }
  // Form of inputs and outputs: the document's, or the one asked for.
  v1::IoForm io() const;
  bool is_imported() const { return !imported_.digest().hash().empty(); }
  const v1::StageSummary::Import& import() const { return import_; }
  const std::vector<std::string>& import_warnings() const {
    return import_warnings_;
  }
  // Simplified, element types as in the model. Of a document: its graph, which
  // no stage before partition changes.
  const v1::BlobRef& imported() const { return imported_; }
  // The same with FLOAT32 for all other floats: what is described, calibrated
  // and quantized. imported() if the model has no other floats.
  const v1::BlobRef& compiled() const { return compiled_; }
  bool has_other_floats() const {
    return compiled_.digest().hash() != imported_.digest().hash();
  }
  // compiled() without the bytes of constants.
  const v1::BlobRef& outline() const { return outline_; }
  // CalibrationStatistics of compiled(), after Calibrate().
  const v1::BlobRef& statistics() const { return statistics_; }
  // The samples that these were collected from.
  const std::vector<v1::BlobRef>& calibration_chunks() const {
    return calibration_chunks_;
  }
  // As Report.calibration; empty if there was none.
  const std::string& calibration() const { return calibration_; }
  // To be awaited before the reference is looked at, and in any case before
  // this object is destroyed.
  TaskScope::Joined JoinReference() const { return reference_task_.Join(); }
  bool has_reference() const { return has_reference_; }
  // If it has one: how that ended, and with what.
  const absl::Status& reference_status() const { return reference_status_; }
  const Reference& reference() const { return reference_; }
  // Without those of the reference.
  const StageSequence& stages() const { return stages_; }

 private:
  Task<absl::Status> OpenDocument();
  Task<absl::Status> RunReference();
  std::shared_ptr<PendingStage> StartReferenceData(StageSequence& stages) const;

  const v1::CreateJobRequest& request_;
  JobContext& context_;
  StageSequence stages_;
  v1::StageSummary::Import import_;
  v1::NetworkOrigin document_;
  std::vector<std::string> import_warnings_;
  v1::BlobRef imported_;
  v1::BlobRef compiled_;
  v1::BlobRef outline_;
  v1::BlobRef statistics_;
  std::vector<v1::BlobRef> calibration_chunks_;
  std::string calibration_;
  std::shared_ptr<PendingStage> calibration_data_;
  std::shared_ptr<PendingStage> reference_data_;  // Null: not started.
  bool has_reference_ = false;
  absl::Status reference_status_;
  Reference reference_{.stages = {context_, StageSequence::kAllTargets}};
  mutable TaskScope reference_task_;  // Waiting for it changes nothing.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_MODEL_STAGES_H_
