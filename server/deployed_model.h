#ifndef EK_SERVER_DEPLOYED_MODEL_H_
#define EK_SERVER_DEPLOYED_MODEL_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "server/job_context.h"
#include "server/model_stages.h"
#include "server/stage_sequence.h"
#include "server/task.h"

namespace edgekiln::server {

// The stages that a job runs once for all targets with equal QuantizationNeeds:
// from the calibrated model to the graph that these targets compile, and the
// data converted for it. Of a network document, that graph is what it holds.
// Const methods may be called from several threads.
class DeployedModel {
 public:
  // `model` has been imported. Stages are reported for `target`, an index into
  // the request's targets or kAllTargets. The arguments must outlive this.
  DeployedModel(const v1::CreateJobRequest& request, JobContext& context,
                const ModelStages& model, v1::QuantizationNeeds needs,
                int target)
      : request_(request),
        model_(model),
        needs_(std::move(needs)),
        stages_(context, target),
        graph_(model.compiled()) {}

  // To be called in this order; each is optional.
  void StartQuantizing();  // A float model that was calibrated.
  // Sets graph(): for a chip with inputs and outputs in the form asked for, for
  // goal QUANTIZE as the stage left it. Sets and returns status().
  Task<absl::Status> Finish();
  void StartData();  // Chunks for graph().

  const v1::QuantizationNeeds& needs() const { return needs_; }
  // What bundles and reports say of graph().
  v1::NetworkOrigin origin() const;
  // Quantized, inputs and outputs in the form asked for. Without a target:
  // model.compiled().
  const v1::BlobRef& graph() const { return graph_; }
  const absl::Status& status() const { return status_; }
  // Goal QUANTIZE: what became of each layer; empty for integer models.
  const v1::QuantizationReport& quantization() const { return quantization_; }
  // The stage that makes the chunks. StartData() must have been called.
  const std::shared_ptr<PendingStage>& data() const { return data_; }
  const StageSequence& stages() const { return stages_; }

 private:
  Task<absl::Status> MakeGraph();

  const v1::CreateJobRequest& request_;
  const ModelStages& model_;
  const v1::QuantizationNeeds needs_;
  StageSequence stages_;
  std::shared_ptr<PendingStage> quantizing_;  // Null for integer models.
  v1::BlobRef graph_;
  v1::QuantizationReport quantization_;
  absl::Status status_;
  std::shared_ptr<PendingStage> data_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DEPLOYED_MODEL_H_
