#ifndef EK_SERVER_DEPLOYED_MODEL_H_
#define EK_SERVER_DEPLOYED_MODEL_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

class Requantization;

// A chip whose engines take more than one scheme, and what the job makes of it.
struct SchemeChip {
  v1::BlobRef capabilities;
  v1::BlobRef machine;
  v1::Offload offload = v1::OFFLOAD_UNSPECIFIED;
  v1::PartitionRecipe recipe;
};

// Whether schemes are to be chosen by what a chip makes of them: its needs
// leave a choice, or the request has an accuracy budget.
bool ChoosesSchemes(const v1::CreateJobRequest& request,
                    const v1::QuantizationNeeds& needs);

// The stages that a job runs once for all targets with equal QuantizationNeeds,
// and, where schemes are chosen, equal chips:
// from the calibrated model to the graph that these targets compile, and the
// data converted for it. Of a network document, that graph is what it holds.
// Const methods may be called from several threads.
class DeployedModel {
 public:
  // `model` has been imported. `anew`: what is quantized in place of its
  // integers; null for a float model, and where these stay. Stages are reported
  // for `target`, an index into the request's targets or kAllTargets. The
  // arguments must outlive this.
  DeployedModel(const v1::CreateJobRequest& request, JobContext& context,
                const ModelStages& model, const Requantization* anew,
                v1::QuantizationNeeds needs, std::optional<SchemeChip> chip,
                int target)
      : request_(request),
        model_(model),
        anew_(anew),
        needs_(std::move(needs)),
        chip_(std::move(chip)),
        stages_(context, target),
        graph_(model.compiled()) {}

  // To be called in this order; each is optional.
  void StartQuantizing();  // What was calibrated.
  // Sets graph(): for a chip with inputs and outputs in the form asked for, for
  // goal QUANTIZE as the stage left it. Sets and returns status().
  Task<absl::Status> Finish();
  void StartData();  // Chunks for graph().

  const v1::QuantizationNeeds& needs() const { return needs_; }
  // Whether targets with these can share it.
  bool IsFor(const v1::QuantizationNeeds& needs,
             const std::optional<SchemeChip>& chip) const;
  // How schemes were chosen; empty where nothing was.
  const v1::SchemeChoice& choice() const { return choice_; }
  bool is_quantized_anew() const { return anew_ != nullptr; }
  // Of one that came quantized, after Finish(): only its rounding is another.
  bool keeps_integers() const;
  // What its ranges come from, as Report.calibration.
  const std::string& calibration() const;
  // What bundles and reports say of graph().
  v1::NetworkOrigin origin() const;
  // Quantized, inputs and outputs in the form asked for. Without a target:
  // model.compiled().
  const v1::BlobRef& graph() const { return graph_; }
  const absl::Status& status() const { return status_; }
  // Goal QUANTIZE: what became of each layer; empty for integer models. Of one
  // that was quantized anew, always how far its outputs moved.
  const v1::QuantizationReport& quantization() const { return quantization_; }
  // The stage that makes the chunks. StartData() must have been called.
  const std::shared_ptr<PendingStage>& data() const { return data_; }
  const StageSequence& stages() const { return stages_; }

 private:
  // What `quantize` and `choose` read of the model.
  std::vector<v1::BlobRef> CalibratedModel() const;
  void StartChoosing();
  void StartStage();  // `quantize`.
  Task<absl::Status> MakeGraph();

  const v1::CreateJobRequest& request_;
  const ModelStages& model_;
  const Requantization* const anew_;
  const v1::QuantizationNeeds needs_;
  const std::optional<SchemeChip> chip_;
  StageSequence stages_;
  v1::QuantizationConfig config_;           // That `quantize` is handed.
  std::shared_ptr<PendingStage> choosing_;  // Null: nothing to choose.
  v1::SchemeChoice choice_;
  std::shared_ptr<PendingStage> quantizing_;  // Null for integer models.
  v1::BlobRef graph_;
  v1::QuantizationReport quantization_;
  absl::Status status_;
  std::shared_ptr<PendingStage> data_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DEPLOYED_MODEL_H_
