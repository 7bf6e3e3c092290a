#include "server/validate_request.h"

#include <algorithm>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/c_name.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

// Each layer is compared with each rule.
constexpr int kMaxLayerRules = 4096;
constexpr size_t kMaxLayerNameBytes = 1024;

absl::Status BadRequest(absl::string_view reason, absl::string_view what,
                        absl::string_view fix) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = std::string(reason),
                    .what = std::string(what),
                    .where = "CreateJobRequest",
                    .fix = std::string(fix)});
}

}  // namespace

bool Wants(const v1::CreateJobRequest& request, v1::JobGoal goal) {
  return std::find(request.goals().begin(), request.goals().end(), goal) !=
         request.goals().end();
}

bool WantsProgram(const v1::CreateJobRequest& request) {
  return request.targets_size() > 0 &&
         (Wants(request, v1::COMPILE) || Wants(request, v1::PROFILE) ||
          Wants(request, v1::VALIDATE) || Wants(request, v1::RUN));
}

bool WantsReport(const v1::CreateJobRequest& request) {
  return WantsProgram(request) || Wants(request, v1::RUN) ||
         Wants(request, v1::QUANTIZE);
}

bool NeedsOwnData(const v1::CreateJobRequest& request) {
  return Wants(request, v1::VALIDATE) || Wants(request, v1::RUN);
}

bool WantsSamples(const v1::CreateJobRequest& request) {
  return (Wants(request, v1::PROFILE) && !request.options().timing_only()) ||
         Wants(request, v1::VALIDATE) || Wants(request, v1::RUN);
}

v1::Offload OffloadOf(const v1::CreateJobRequest& request) {
  const v1::Offload offload = request.options().offload();
  return offload == v1::OFFLOAD_UNSPECIFIED ? v1::ALL : offload;
}

v1::IoForm IoFormOf(const v1::CreateJobRequest& request) {
  return request.options().io() == v1::IO_FLOAT ? v1::IO_FLOAT : v1::IO_INTEGER;
}

namespace {

absl::Status ValidateSweep(const v1::CreateJobRequest& request) {
  v1::CreateJobRequest others = request;
  others.clear_request_id();
  others.clear_model_name();
  others.clear_slot();
  others.clear_sweep();
  others.clear_goals();
  v1::JobOptions& options = *others.mutable_options();
  options.clear_queue_deadline();
  options.clear_run_deadline();
  options.clear_job_class();
  const bool only_sweep =
      request.goals_size() == 1 && options.ByteSizeLong() == 0;
  others.clear_options();
  if (only_sweep && others.ByteSizeLong() == 0) {
    if (request.sweep().groups_size() > 0) return absl::OkStatus();
    return BadRequest("NO_SWEEP", "SWEEP needs a sweep with groups",
                      "set sweep.groups");
  }
  return BadRequest("GOALS_CONFLICT",
                    "a SWEEP takes its models, targets, data and options from "
                    "its groups; of its own it has deadlines and a class",
                    "move what is beside `sweep` into the groups, and other "
                    "goals to jobs of their own");
}

// Whether targets have firmware that can be looked at is found when they are
// resolved.
absl::Status ValidateHotSpots(const v1::CreateJobRequest& request) {
  const v1::JobOptions& options = request.options();
  if (!options.hot_spots()) return absl::OkStatus();
  if (!Wants(request, v1::PROFILE)) {
    return BadRequest("GOALS_CONFLICT",
                      "options.hot_spots is part of PROFILE, which was not "
                      "asked for",
                      "add PROFILE, or leave hot_spots out");
  }
  if (options.timing_only()) {
    return BadRequest("HOT_SPOTS_CONFLICT",
                      "hot spots are those of a run on the first sample, and "
                      "options.timing_only leaves samples out",
                      "leave timing_only or hot_spots out");
  }
  if (options.compiler() == v1::NO_COMPILER) {
    return BadRequest("HOT_SPOTS_CONFLICT",
                      "hot spots are those of compiled code, and "
                      "options.compiler is NO_COMPILER",
                      "use GCC, or leave hot_spots out");
  }
  return absl::OkStatus();
}

// Its ranking makes another stage of it than what programs are compiled from.
absl::Status ValidateQuantize(const v1::CreateJobRequest& request) {
  if (!Wants(request, v1::QUANTIZE)) {
    if (!request.options().export_onnx()) return absl::OkStatus();
    return BadRequest("GOALS_CONFLICT",
                      "options.export_onnx is part of QUANTIZE, which was not "
                      "asked for",
                      "make a job of goal QUANTIZE, or leave export_onnx out");
  }
  for (const int goal : request.goals()) {
    if (goal != v1::QUANTIZE && goal != v1::INSPECT) {
      return BadRequest("GOALS_CONFLICT",
                        "QUANTIZE goes with INSPECT alone: it makes no program",
                        "make two jobs");
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateName(const v1::CreateJobRequest& request) {
  const std::string& name = request.options().name();
  if (name.empty()) return absl::OkStatus();
  if (!Wants(request, v1::COMPILE)) {
    return BadRequest("GOALS_CONFLICT",
                      "options.name is that of a bundle's network, and COMPILE "
                      "was not asked for",
                      "add COMPILE, or leave options.name out");
  }
  if (request.has_document()) {
    return BadRequest("DOCUMENT_DECIDES",
                      "options.name is for models: a document has the name of "
                      "its network",
                      "leave options.name out, or give the model");
  }
  if (IsCName(name)) return absl::OkStatus();
  return BadRequest(
      "BAD_NAME",
      absl::StrCat("options.name '", absl::CHexEscape(name.substr(0, 40)),
                   "' cannot begin C identifiers"),
      absl::StrCat("use '", CNameOf(name), "': ", kCNameRule));
}

// What a document has decided cannot be asked for again.
absl::Status ValidateDocument(const v1::CreateJobRequest& request) {
  if (!request.has_document()) return absl::OkStatus();
  if (request.has_model()) {
    return BadRequest("MODEL_AND_DOCUMENT",
                      "the request has a model and a document",
                      "leave one of them out");
  }
  if (request.goals_size() != 1 || !Wants(request, v1::COMPILE)) {
    return BadRequest("GOALS_CONFLICT",
                      "a document can be compiled; other goals need the model",
                      "set goals to COMPILE, or give the model");
  }
  v1::JobOptions options = request.options();
  options.clear_queue_deadline();
  options.clear_run_deadline();
  options.clear_io();
  options.clear_job_class();
  options.clear_recipe();
  options.clear_offload();
  options.clear_compiler();
  if (options.ByteSizeLong() == 0 && !request.has_calibration() &&
      !request.has_data() && !request.has_bindings() &&
      request.transforms().empty()) {
    return absl::OkStatus();
  }
  return BadRequest("DOCUMENT_DECIDES",
                    "data, bindings and calibration are for models: a document "
                    "holds what was made of them",
                    "leave calibration, data, bindings, transforms and their "
                    "options out, or give the model");
}

}  // namespace

absl::Status ValidateRequest(const v1::CreateJobRequest& request) {
  if (request.goals().empty() || Wants(request, v1::JOB_GOAL_UNSPECIFIED)) {
    return BadRequest(
        "NO_GOAL", "the request names no goal",
        "set goals to INSPECT, QUANTIZE, COMPILE, PROFILE, VALIDATE, RUN or "
        "SWEEP");
  }
  for (const int goal : request.goals()) {
    if (!v1::JobGoal_IsValid(goal)) {
      return BadRequest("UNKNOWN_GOAL", absl::StrCat("unknown goal ", goal),
                        "use a goal that this version supports");
    }
  }
  if (Wants(request, v1::SWEEP)) return ValidateSweep(request);
  if (request.has_sweep()) {
    return BadRequest("NO_GOAL", "there is a sweep, but no goal SWEEP",
                      "set goals to SWEEP, or leave sweep out");
  }
  const bool needs_target = Wants(request, v1::COMPILE) ||
                            Wants(request, v1::PROFILE) ||
                            Wants(request, v1::VALIDATE);
  if (needs_target && request.targets().empty()) {
    return BadRequest("NO_TARGET",
                      "COMPILE, PROFILE and VALIDATE need a target",
                      "add a target; Targets.ListTargets has names");
  }
  if (Wants(request, v1::RUN) &&
      (Wants(request, v1::VALIDATE) || Wants(request, v1::PROFILE))) {
    return BadRequest("GOALS_CONFLICT",
                      "RUN reads its data in another way than PROFILE and "
                      "VALIDATE do",
                      "make two jobs");
  }
  if (request.options().timing_only() &&
      (Wants(request, v1::VALIDATE) || Wants(request, v1::RUN) ||
       !Wants(request, v1::PROFILE))) {
    return BadRequest("GOALS_CONFLICT",
                      "options.timing_only computes no values; only PROFILE "
                      "can do without",
                      "leave VALIDATE and RUN to a job of their own");
  }
  if (request.options().timeline() && !Wants(request, v1::PROFILE)) {
    return BadRequest(
        "GOALS_CONFLICT",
        "options.timeline is part of PROFILE, which was not asked "
        "for",
        "add PROFILE, or leave timeline out");
  }
  EK_RETURN_IF_ERROR(ValidateHotSpots(request));
  EK_RETURN_IF_ERROR(ValidateQuantize(request));
  EK_RETURN_IF_ERROR(ValidateName(request));
  EK_RETURN_IF_ERROR(ValidateDocument(request));
  if (!v1::Metric_IsValid(request.options().metric())) {
    return BadRequest(
        "BAD_METRIC",
        absl::StrCat("options.metric is ", request.options().metric()),
        "use a metric that this version has");
  }
  if ((request.options().metric() != v1::METRIC_UNSPECIFIED ||
       request.options().confusion()) &&
      !Wants(request, v1::VALIDATE)) {
    return BadRequest("GOALS_CONFLICT",
                      "options.metric and confusion are part of VALIDATE, "
                      "which was not asked for",
                      "add VALIDATE, or leave them out");
  }
  if (!v1::IoForm_IsValid(request.options().io())) {
    return BadRequest("BAD_IO",
                      absl::StrCat("options.io is ", request.options().io()),
                      "use IO_INTEGER or IO_FLOAT");
  }
  if (!request.options().recipe().empty() && request.targets().empty()) {
    return BadRequest("NO_TARGET",
                      "options.recipe is one of a target's recipes",
                      "add the target, or leave options.recipe out");
  }
  if (!v1::Offload_IsValid(request.options().offload())) {
    return BadRequest(
        "BAD_OFFLOAD",
        absl::StrCat("options.offload is ", request.options().offload()),
        "use ALL, PAYING or NONE");
  }
  if (request.options().offload() != v1::OFFLOAD_UNSPECIFIED &&
      request.targets().empty()) {
    return BadRequest("NO_TARGET",
                      "options.offload is about a target's engines",
                      "add the target, or leave options.offload out");
  }
  if (!v1::CompilerFamily_IsValid(request.options().compiler())) {
    return BadRequest(
        "BAD_COMPILER",
        absl::StrCat("options.compiler is ", request.options().compiler()),
        "use GCC, CLANG or NO_COMPILER");
  }
  const int ppm = request.options().calibrate().percentile_ppm();
  if (ppm != 0 && (ppm <= 500'000 || ppm > 1'000'000)) {
    return BadRequest("BAD_PERCENTILE", absl::StrCat("percentile_ppm is ", ppm),
                      "use 0 for the default, or 500001 to 1000000");
  }
  const v1::QuantizationConfig& quantization = request.options().quantization();
  bool long_name = false;
  for (const auto& rule : quantization.layers()) {
    long_name = long_name || rule.layer().size() > kMaxLayerNameBytes;
  }
  if (quantization.layers_size() > kMaxLayerRules || long_name) {
    return BadRequest(
        "BAD_QUANTIZATION",
        absl::StrCat("options.quantization has ", quantization.layers_size(),
                     " rules"),
        absl::StrCat("give ", kMaxLayerRules, " rules at most, with names of ",
                     kMaxLayerNameBytes, " bytes at most"));
  }
  if (request.options().limit() < 0) {
    return BadRequest("BAD_LIMIT", "options.limit is negative",
                      "use 0 for all samples");
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::server
