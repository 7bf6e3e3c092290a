#include "client/job_request.h"

#include <unistd.h>

#include <random>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/quantization_file.h"
#include "client/recipe_support.h"
#include "client/retry.h"
#include "client/text_arguments.h"
#include "google/protobuf/util/time_util.h"
#include "proto/convert.h"

namespace edgekiln::client {
namespace {

// Two files of the same name must not share a heading or an output folder.
void MakeNamesUnique(v1::CreateJobRequest& request) {
  std::set<std::string> used;
  for (v1::TargetRef& target : *request.mutable_targets()) {
    std::string name = target.name();
    for (int n = 2; !used.insert(name).second; ++n) {
      name = absl::StrCat(target.name(), "-", n);
    }
    target.set_name(name);
  }
}

void SetDeadline(absl::Duration limit, google::protobuf::Duration& deadline) {
  deadline = google::protobuf::util::TimeUtil::MicrosecondsToDuration(
      absl::ToInt64Microseconds(limit));
}

// Users of one daemon must not take each other's slots.
v1::JobSlot SlotOf(const std::string& key) {
  char host[65] = "";
  gethostname(host, sizeof(host) - 1);
  v1::JobSlot slot;
  slot.set_client(absl::StrCat(getuid(), "@", host));
  slot.set_name(key);
  return slot;
}

// An editor asks with --supersede, and somebody looks at it.
v1::JobClass ClassOf(const CommandContext& context) {
  if (context.line.job_class != v1::JOB_CLASS_UNSPECIFIED) {
    return context.line.job_class;
  }
  return context.on_terminal || !context.line.slot.empty() ? v1::INTERACTIVE
                                                           : v1::CI;
}

void SetOptions(const CommandContext& context, v1::CreateJobRequest& request) {
  const CommandLine& line = context.line;
  v1::JobOptions& options = *request.mutable_options();
  options.set_job_class(ClassOf(context));
  if (line.calibration_method.has_value()) {
    *options.mutable_calibrate() = *line.calibration_method;
  }
  if (line.seed.has_value()) options.set_seed(*line.seed);
  if (line.limit.has_value()) options.set_limit(*line.limit);
  options.set_label_offset(line.label_offset);
  options.set_metric(line.metric);
  options.set_confusion(line.confusion);
  options.set_timing_only(line.timing_only);
  options.set_timeline(!line.timeline.empty());
  options.set_hot_spots(line.hot);
  options.set_io(line.io);
  options.set_recipe(line.recipe);
  options.set_name(line.network_name);
  options.set_offload(line.offload);
  options.set_compiler(line.compiler);
  SetDeadlines(line, options);
  if (!line.slot.empty()) *request.mutable_slot() = SlotOf(line.slot);
  for (const v1::InputTransform& transform : line.transforms) {
    *request.add_transforms() = transform;
  }
}

absl::Status AddDataSet(const std::string& argument, absl::string_view option,
                        bool labels_needed, CommandContext& context,
                        v1::DataRef& data, std::vector<LocalBlob>& blobs) {
  EK_ASSIGN_OR_RETURN(
      const std::vector<LocalBlob> files,
      OpenDataSet(context.files, argument, option, labels_needed));
  for (const LocalBlob& file : files) {
    *data.add_files() = ToProto(file.digest);
    blobs.push_back(file);
  }
  return absl::OkStatus();
}

}  // namespace

bool NeedsLabels(const CommandLine& line) {
  return line.confusion || line.gates.min_accuracy.has_value() ||
         line.metric == v1::METRIC_TOP1 || line.metric == v1::METRIC_TOP5 ||
         line.metric == v1::METRIC_AUC;
}

std::string NewRequestId() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i) absl::StrAppendFormat(&id, "%08x", device());
  return id;
}

std::string TargetFileName(const std::string& path) {
  absl::string_view name(path);
  const size_t slash = name.rfind('/');
  if (slash != absl::string_view::npos) name.remove_prefix(slash + 1);
  for (const char* suffix : {".txtpb", ".textproto"}) {
    name = absl::StripSuffix(name, suffix);
  }
  return ShownFileName(std::string(name));
}

void SetDeadlines(const CommandLine& line, v1::JobOptions& options) {
  if (line.queue_timeout != absl::InfiniteDuration()) {
    SetDeadline(line.queue_timeout, *options.mutable_queue_deadline());
  }
  if (line.run_timeout != absl::InfiniteDuration()) {
    SetDeadline(line.run_timeout, *options.mutable_run_deadline());
  }
}

bool NamesTargetFile(FileSystem& files, const std::string& target) {
  return target.find('/') != std::string::npos ||
         absl::EndsWith(target, ".txtpb") ||
         absl::EndsWith(target, ".textproto") || files.Stat(target).ok();
}

absl::StatusOr<v1::TargetRef> ResolveTarget(const std::string& target,
                                            CommandContext& context,
                                            std::vector<LocalBlob>& blobs) {
  const std::string& recipe = context.line.recipe;
  v1::TargetRef ref;
  if (NamesTargetFile(context.files, target)) {
    EK_ASSIGN_OR_RETURN(const LocalBlob blob,
                        OpenLocalBlob(context.files, target, "--target"));
    ref.set_name(TargetFileName(target));
    *ref.mutable_digest() = ToProto(blob.digest);
    blobs.push_back(blob);
    return ref;
  }
  EK_ASSIGN_OR_RETURN(const v1::TargetInfo info,
                      context.connection.GetTarget(target, recipe));
  EK_RETURN_IF_ERROR(CheckKnowsRecipes(
      recipe, info.recipes().empty() ? "" : info.recipes(0).name()));
  ref.set_name(info.name());
  *ref.mutable_digest() = info.digest();
  return ref;
}

absl::StatusOr<v1::ModelBindings> OpenBindings(CommandContext& context,
                                               std::vector<LocalBlob>& blobs) {
  v1::ModelBindings bindings;
  for (const v1::DimensionBinding& dimension : context.line.dimensions) {
    *bindings.add_dimensions() = dimension;
  }
  const auto open = [&](const NamedFile& file, absl::string_view option,
                        v1::NamedBlob& named) -> absl::Status {
    EK_ASSIGN_OR_RETURN(const LocalBlob blob,
                        OpenLocalBlob(context.files, file.path, option));
    named.set_name(file.name);
    *named.mutable_digest() = ToProto(blob.digest);
    blobs.push_back(blob);
    return absl::OkStatus();
  };
  for (const NamedFile& file : context.line.bound_inputs) {
    EK_RETURN_IF_ERROR(open(file, "--bind-input", *bindings.add_inputs()));
  }
  for (const NamedFile& file : context.line.external_data) {
    EK_RETURN_IF_ERROR(
        open(file, "--external-data", *bindings.add_external_data()));
  }
  return bindings;
}

absl::Status UploadBlobs(const std::vector<LocalBlob>& blobs,
                         CommandContext& context) {
  bool reconnecting = false;
  const auto progress = [&](const TransferState& state) {
    if (state.reconnecting != reconnecting) {
      reconnecting = state.reconnecting;
      context.progress.OnReconnecting(reconnecting);
    }
    context.progress.OnLocalStep("upload", state.done_bytes, state.total_bytes);
  };
  return RetryWhenTold(context, nullptr, [&] {
    return context.connection.Upload(blobs, progress);
  });
}

absl::StatusOr<v1::CreateJobRequest> PrepareJob(v1::JobGoal goal,
                                                bool labels_needed,
                                                CommandContext& context) {
  const CommandLine& line = context.line;
  v1::CreateJobRequest request;
  request.set_request_id(NewRequestId());
  const bool is_document = !line.document.empty();
  const std::string& path = is_document ? line.document : line.model;
  request.set_model_name(ShownFileName(path));
  request.add_goals(goal);
  SetOptions(context, request);
  // All files are looked at before the daemon is asked for anything.
  if (!line.quantization.empty()) {
    EK_ASSIGN_OR_RETURN(*request.mutable_options()->mutable_quantization(),
                        ReadQuantizationFile(context.files, line.quantization,
                                             "--quantization"));
  }
  SetAccuracyBudget(line.accuracy_budget, *request.mutable_options());
  std::vector<LocalBlob> blobs;
  EK_ASSIGN_OR_RETURN(const LocalBlob model,
                      is_document ? OpenLocalBlob(context.files, path, "--from")
                                  : OpenModel(context.files, path, "MODEL"));
  *(is_document ? request.mutable_document() : request.mutable_model()) =
      ToProto(model.digest);
  blobs.push_back(model);
  if (!is_document) {
    EK_ASSIGN_OR_RETURN(*request.mutable_bindings(),
                        OpenBindings(context, blobs));
  }
  if (!line.calibration.empty()) {
    EK_RETURN_IF_ERROR(AddDataSet(line.calibration, "--calibration", false,
                                  context, *request.mutable_calibration(),
                                  blobs));
  }
  if (!line.data.empty()) {
    EK_RETURN_IF_ERROR(AddDataSet(line.data, "--data", labels_needed, context,
                                  *request.mutable_data(), blobs));
  }
  for (const std::string& target : line.targets) {
    EK_ASSIGN_OR_RETURN(*request.add_targets(),
                        ResolveTarget(target, context, blobs));
  }
  MakeNamesUnique(request);
  EK_RETURN_IF_ERROR(UploadBlobs(blobs, context));
  return request;
}

}  // namespace edgekiln::client
