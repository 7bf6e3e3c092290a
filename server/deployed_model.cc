#include "server/deployed_model.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "server/compile_job.h"
#include "server/stage_results.h"
#include "server/validate_request.h"

namespace edgekiln::server {
namespace {

// The method of the job's own option comes before that of the file.
v1::QuantizationConfig QuantizationOf(const v1::CreateJobRequest& request) {
  v1::QuantizationConfig config = request.options().quantization();
  if (request.options().has_calibrate()) {
    *config.mutable_ranges() = request.options().calibrate();
  }
  return config;
}

}  // namespace

void DeployedModel::StartQuantizing() {
  v1::StageOptions options;
  *options.mutable_quantize()->mutable_needs() = needs_;
  *options.mutable_quantize()->mutable_config() = QuantizationOf(request_);
  options.mutable_quantize()->set_rank(Wants(request_, v1::QUANTIZE));
  std::vector<v1::BlobRef> inputs = {model_.compiled(), model_.statistics()};
  // Random samples show what ranges there may be, and nothing of what matters.
  if (model_.calibration() != kSyntheticCalibration) {
    const std::vector<v1::BlobRef>& chunks = model_.calibration_chunks();
    inputs.insert(inputs.end(), chunks.begin(), chunks.end());
  }
  quantizing_ = stages_.Start("quantize", options, std::move(inputs));
}

v1::NetworkOrigin DeployedModel::origin() const {
  if (model_.document() != nullptr) return *model_.document();
  v1::NetworkOrigin origin;
  origin.set_model_name(request_.model_name());
  *origin.mutable_model() = request_.model();
  origin.set_io(model_.io());
  if (quantizing_ == nullptr) return origin;
  *origin.mutable_quantized_for() = needs_;
  v1::QuantizationConfig config = QuantizationOf(request_);
  if (config.ByteSizeLong() > 0) {
    *origin.mutable_quantization() = std::move(config);
  }
  origin.set_ranges(model_.calibration() == kSyntheticCalibration
                        ? v1::NetworkOrigin::SYNTHETIC
                        : v1::NetworkOrigin::DATA);
  return origin;
}

Task<absl::Status> DeployedModel::MakeGraph() {
  if (model_.document() != nullptr) co_return absl::OkStatus();
  if (quantizing_ != nullptr) {
    EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& quantized,
                           co_await ResultOf(quantizing_));
    EK_CO_ASSIGN_OR_RETURN(graph_, Only(quantized, "graph"));
    quantization_ = quantized.summary().quantization();
  }
  // The reference computes the same whoever converts inputs and outputs, and
  // exported models take what the source took.
  if (!WantsProgram(request_)) co_return absl::OkStatus();
  v1::StageOptions options;
  options.mutable_set_io()->set_io(model_.io());
  const auto setting = stages_.Start("set_io", options, {graph_});
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& set,
                         co_await ResultOf(setting));
  EK_CO_ASSIGN_OR_RETURN(graph_, Only(set, "graph"));
  co_return absl::OkStatus();
}

Task<absl::Status> DeployedModel::Finish() {
  status_ = co_await MakeGraph();
  co_return status_;
}

void DeployedModel::StartData() {
  int64_t limit = request_.options().limit();
  // A profile compares on a few inputs, whatever the data set holds.
  if (limit == 0 && Wants(request_, v1::PROFILE) && !NeedsOwnData(request_) &&
      request_.data().files_size() > 0) {
    limit = kProfiledSamples;
  }
  data_ =
      model_.StartConversion("data", request_.data(), graph_,
                             /*raw=*/Wants(request_, v1::RUN), limit, stages_);
}

}  // namespace edgekiln::server
