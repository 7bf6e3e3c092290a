#include "server/fit_check.h"

#include "absl/status/statusor.h"
#include "base/error.h"
#include "server/firmware_stages.h"
#include "server/stage_results.h"
#include "server/validate_request.h"
#include "server/worker_limits.h"

namespace edgekiln::server {
namespace {

// Whether activations become what the target's engines take. UINT8 becomes INT8
// for engines.
bool HasEnginesActivations(const v1::CreateJobRequest& request,
                           const v1::QuantizationNeeds& needs) {
  const bool int16 = needs.activations() == v1::INT16;
  switch (request.options().quantization().activations()) {
    case v1::QuantizationConfig::ACTIVATIONS_INT8:
    case v1::QuantizationConfig::ACTIVATIONS_UINT8:
      return !int16;
    case v1::QuantizationConfig::ACTIVATIONS_INT16:
      return int16;
    default:
      return true;
  }
}

// Whether there is little to be saved by a refusal before the model is placed:
// then the check shares a lease with the stages that make the program. Samples
// of the user's own may take long to convert and to interpret. Not where
// somebody may watch the stages, as they are executed under its name.
bool MayComeLate(const v1::CreateJobRequest& request) {
  return request.options().job_class() == v1::BATCH && WantsProgram(request) &&
         !NeedsOwnData(request) && !Wants(request, v1::INSPECT);
}

}  // namespace

void StartFitCheck(const v1::CreateJobRequest& request,
                   const v1::BlobRef& outline, bool quantizes,
                   const v1::StageResult& resolved, TargetRun& run) {
  run.check_fit = nullptr;
  run.late_check_fit.reset();
  const v1::StageSummary::Target& target = resolved.summary().target();
  if (HasFirmware(target)) return;
  if (quantizes &&
      !HasEnginesActivations(request, target.quantization_needs())) {
    return;
  }
  const auto capabilities = Only(resolved, "capabilities");
  const auto machine = Only(resolved, "machine");
  if (!capabilities.ok() || !machine.ok()) return;
  StageCall call = {.name = "check_fit",
                    .inputs = {outline, *capabilities, *machine}};
  call.options.mutable_check_fit();
  const v1::Offload offload = OffloadOf(request);
  if (offload != v1::ALL) {
    call.options.mutable_check_fit()->set_offload(offload);
  }
  if (!quantizes && MayComeLate(request)) {
    run.late_check_fit = std::move(call);
  } else {
    run.check_fit = run.stages.Start(std::move(call));
  }
}

Task<absl::Status> FitRefusal(const TargetRun& run) {
  if (run.check_fit == nullptr) co_return absl::OkStatus();
  const auto& checked = co_await ResultOf(run.check_fit);
  const absl::Status fits = checked.status();
  const auto detail = GetErrorDetail(fits);
  const bool users = detail && detail->fault == Fault::kUser;
  co_return users && !IsOverWorkerLimit(fits) ? fits : absl::OkStatus();
}

}  // namespace edgekiln::server
