#include "server/job_report.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "server/report_builder.h"
#include "server/validate_request.h"
#include "server/version.h"
#include "target/recipes.h"

namespace edgekiln::server {

v1::Report NewReport(const std::string& job_id,
                     const v1::CreateJobRequest& request, int target) {
  v1::Report report;
  report.set_job_id(job_id);
  report.set_model_name(request.model_name());
  *report.mutable_model() = request.model();
  if (target != StageSequence::kAllTargets) {
    report.set_target_name(request.targets(target).name());
    *report.mutable_target() = request.targets(target).digest();
    // Of hostile origin until it is found.
    report.set_recipe(SanitizeText(
        std::string(target::RecipeNameOf(request.options().recipe())),
        target::kMaxRecipeNameBytes));
    report.set_offload(
        absl::AsciiStrToLower(v1::Offload_Name(OffloadOf(request))));
  }
  report.set_version(std::string(Version()));
  return report;
}

void WarnOfUnusedCalibration(const v1::CreateJobRequest& request,
                             const ModelStages& model, v1::Report& report) {
  if (request.calibration().files_size() == 0 || !model.is_imported() ||
      !model.calibration().empty()) {
    return;
  }
  report.add_warnings(
      absl::StrCat("the calibration data is not used: ",
                   !WantsProgram(request) && !Wants(request, v1::QUANTIZE)
                       ? "without a target nothing is quantized"
                       : "the model came quantized and keeps its own ranges"));
}

void AddStages(const StageSequence& stages, v1::Report& report) {
  for (const std::shared_ptr<SequenceStage>& stage : stages.stages()) {
    v1::Report::Stage record = stage->Record();
    if (record.name().empty()) continue;
    *report.add_stages() = std::move(record);
    if (!stage->asked()) continue;
    const absl::StatusOr<v1::StageResult>& result = *stage->Result();
    // That data lies beyond ranges which random inputs gave is no news.
    const bool guessed = report.calibration() == kSyntheticCalibration &&
                         report.stages().rbegin()->name() == "convert_data";
    if (result.ok() && !guessed) AddWarnings(*result, report);
  }
}

}  // namespace edgekiln::server
