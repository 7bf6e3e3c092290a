#include "server/deployed_model.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "google/protobuf/util/message_differencer.h"
#include "server/compile_job.h"
#include "server/kept_integers.h"
#include "server/requantization.h"
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

bool ChoosesSchemes(const v1::CreateJobRequest& request,
                    const v1::QuantizationNeeds& needs) {
  return request.options().quantization().accuracy_budget_ppm() > 0 ||
         std::any_of(needs.ops().begin(), needs.ops().end(),
                     [](const v1::QuantizationNeeds::Op& op) {
                       // The host's int8 is another way.
                       return op.narrower_size() > 0 ||
                              op.weight_values() == v1::WEIGHTS_TERNARY;
                     });
}

bool DeployedModel::IsFor(const v1::QuantizationNeeds& needs,
                          const std::optional<SchemeChip>& chip) const {
  using google::protobuf::util::MessageDifferencer;
  if (!MessageDifferencer::Equals(needs_, needs)) return false;
  if (!chip_ || !chip) return !chip_ && !chip;
  return MessageDifferencer::Equals(chip_->capabilities, chip->capabilities) &&
         MessageDifferencer::Equals(chip_->machine, chip->machine) &&
         MessageDifferencer::Equals(chip_->recipe, chip->recipe);
}

bool DeployedModel::keeps_integers() const {
  return std::find(quantization_.notes().begin(), quantization_.notes().end(),
                   kIntegersKept) != quantization_.notes().end();
}

const std::string& DeployedModel::calibration() const {
  static const auto* const kNone = new std::string();
  if (keeps_integers()) return *kNone;
  return anew_ != nullptr ? anew_->calibration() : model_.calibration();
}

std::vector<v1::BlobRef> DeployedModel::CalibratedModel() const {
  if (anew_ != nullptr) return anew_->CalibratedModel();
  std::vector<v1::BlobRef> inputs = {model_.compiled(), model_.statistics()};
  // Random samples show what ranges there may be, and nothing of what matters.
  if (model_.calibration() != kSyntheticCalibration) {
    const std::vector<v1::BlobRef>& chunks = model_.calibration_chunks();
    inputs.insert(inputs.end(), chunks.begin(), chunks.end());
  }
  return inputs;
}

void DeployedModel::StartChoosing() {
  v1::StageOptions options;
  v1::ChooseOptions& choose = *options.mutable_choose();
  *choose.mutable_needs() = needs_;
  *choose.mutable_config() = config_;
  choose.set_offload(chip_->offload);
  *choose.mutable_recipe() = chip_->recipe;
  std::vector<v1::BlobRef> inputs = CalibratedModel();
  inputs.push_back(chip_->capabilities);
  inputs.push_back(chip_->machine);
  choosing_ = stages_.Start("choose", options, std::move(inputs));
}

void DeployedModel::StartQuantizing() {
  config_ = QuantizationOf(request_);
  if (chip_) return StartChoosing();
  StartStage();
}

void DeployedModel::StartStage() {
  v1::StageOptions options;
  *options.mutable_quantize()->mutable_needs() = needs_;
  *options.mutable_quantize()->mutable_config() = config_;
  // Whether to quantize has been decided; of a model that came quantized, ON
  // asks for other integers.
  if (anew_ == nullptr || config_.requantize() != v1::ON) {
    options.mutable_quantize()->mutable_config()->clear_requantize();
  }
  options.mutable_quantize()->set_rank(Wants(request_, v1::QUANTIZE));
  std::vector<v1::BlobRef> inputs = CalibratedModel();
  if (anew_ != nullptr) {
    const std::vector<v1::BlobRef> compared = anew_->ComparedWith();
    inputs.insert(inputs.end(), compared.begin(), compared.end());
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
  if (config_.ByteSizeLong() > 0) *origin.mutable_quantization() = config_;
  if (calibration().empty()) return origin;  // Those that the model had.
  origin.set_ranges(calibration() == kSyntheticCalibration
                        ? v1::NetworkOrigin::SYNTHETIC
                        : v1::NetworkOrigin::DATA);
  return origin;
}

Task<absl::Status> DeployedModel::MakeGraph() {
  if (model_.document() != nullptr) co_return absl::OkStatus();
  if (choosing_ != nullptr) {
    EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& chosen,
                           co_await ResultOf(choosing_));
    config_ = chosen.summary().choose().config();
    choice_ = chosen.summary().choose().choice();
    StartStage();
  }
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
  options.mutable_set_io()->set_name(request_.options().name());
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
