#include "server/deployed_model.h"

#include <cstdint>

#include "server/compile_job.h"
#include "server/stage_results.h"
#include "server/validate_request.h"

namespace edgekiln::server {

void DeployedModel::StartQuantizing() {
  v1::StageOptions options;
  *options.mutable_quantize()->mutable_needs() = needs_;
  quantizing_ = stages_.Start("quantize", options,
                              {model_.compiled(), model_.statistics()});
}

v1::NetworkOrigin DeployedModel::origin() const {
  if (model_.document() != nullptr) return *model_.document();
  v1::NetworkOrigin origin;
  origin.set_model_name(request_.model_name());
  *origin.mutable_model() = request_.model();
  origin.set_io(model_.io());
  if (quantizing_ == nullptr) return origin;
  *origin.mutable_quantized_for() = needs_;
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
  }
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
  if (limit == 0 && !NeedsOwnData(request_) &&
      request_.data().files_size() > 0) {
    limit = kProfiledSamples;
  }
  data_ =
      model_.StartConversion("data", request_.data(), graph_,
                             /*raw=*/Wants(request_, v1::RUN), limit, stages_);
}

}  // namespace edgekiln::server
