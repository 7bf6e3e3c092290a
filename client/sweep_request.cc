#include "client/sweep_request.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/exit_code.h"
#include "client/job_request.h"
#include "client/quantization_file.h"
#include "client/sweep_file.h"
#include "client/sweep_options.h"
#include "client/text_arguments.h"
#include "client/unreadable_file.h"
#include "proto/convert.h"

namespace edgekiln::client {
namespace {

using SweepFiles = google::protobuf::RepeatedPtrField<v1::SweepFile>;

std::string StemOf(const std::string& path) {
  std::string name = ShownFileName(path);
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

void SetGates(const Gates& gates, v1::SweepGates& out) {
  if (gates.max_cycles.has_value()) out.set_max_cycles(*gates.max_cycles);
  if (gates.max_latency_ms.has_value()) {
    out.set_max_latency_ms(*gates.max_latency_ms);
  }
  for (const MemoryLimit& limit : gates.max_memory) {
    v1::SweepGates::Memory& memory = *out.add_max_memory();
    memory.set_name(limit.memory);
    memory.set_bytes(limit.bytes);
  }
  if (gates.max_ram_bytes.has_value()) {
    out.set_max_ram_bytes(*gates.max_ram_bytes);
  }
  if (gates.min_accuracy.has_value()) out.set_min_accuracy(*gates.min_accuracy);
  if (gates.max_error.has_value()) out.set_max_error(*gates.max_error);
  if (gates.max_disagreement.has_value()) {
    out.set_max_disagreement(*gates.max_disagreement);
  }
}

void SetOptions(const CommandLine& line, v1::SweepOptions& options) {
  options.set_offload(line.offload);
  options.set_io(line.io);
  options.set_metric(line.metric);
  if (line.seed.has_value()) options.set_seed(*line.seed);
  if (line.limit.has_value()) options.set_limit(*line.limit);
  if (line.calibration_method.has_value()) {
    *options.mutable_calibrate() = *line.calibration_method;
  }
}

// Opens files by the names that a request has for them.
class FileOpener {
 public:
  // Relative names are looked for in `folder`.
  FileOpener(FileSystem& files, std::string folder)
      : files_(files), folder_(std::move(folder)) {}

  absl::Status OpenAll(v1::SweepRequest& request) {
    for (v1::SweepGroup& group : *request.mutable_groups()) {
      for (v1::SweepModel& model : *group.mutable_models()) {
        EK_RETURN_IF_ERROR(
            Open(model.file(), "models: file", *model.mutable_digest()));
        for (SweepFiles* const files :
             {model.mutable_inputs(), model.mutable_external_data(),
              model.mutable_calibration(), model.mutable_data()}) {
          for (v1::SweepFile& file : *files) {
            EK_RETURN_IF_ERROR(
                Open(file.file(), "file", *file.mutable_digest()));
          }
        }
      }
      for (v1::SweepVary& vary : *group.mutable_vary()) {
        EK_RETURN_IF_ERROR(ReadQuantizations(vary));
      }
      for (v1::SweepTarget& target : *group.mutable_targets()) {
        if (target.file().empty()) continue;
        EK_RETURN_IF_ERROR(
            Open(target.file(), "targets: file", *target.mutable_digest()));
        if (target.name().empty()) {
          target.set_name(TargetFileName(target.file()));
        }
      }
    }
    NameModels(request);
    return absl::OkStatus();
  }

  std::vector<LocalBlob> TakeBlobs() { return std::move(blobs_); }

 private:
  std::string PathOf(const std::string& file) const {
    return file[0] == '/' || folder_.empty() ? file : JoinPath(folder_, file);
  }

  absl::Status ReadQuantizations(v1::SweepVary& vary) {
    if (vary.key() != "quantization") return absl::OkStatus();
    // Of a file that holds them itself.
    if (vary.quantizations_size() > 0) return absl::OkStatus();
    for (const std::string& file : vary.values()) {
      v1::QuantizationConfig& config = *vary.add_quantizations();
      if (file.empty() || file == "default") continue;
      EK_ASSIGN_OR_RETURN(config, ReadQuantizationFile(files_, PathOf(file),
                                                       "vary quantization"));
    }
    return absl::OkStatus();
  }

  absl::Status Open(const std::string& file, const char* option,
                    v1::Digest& digest) {
    if (file.empty()) {
      return UsageError("a file is not named", option, "a path",
                        "give it as `file`");
    }
    const std::string path = PathOf(file);
    const auto known = digests_.find(path);
    if (known != digests_.end()) {
      digest = known->second;
      return absl::OkStatus();
    }
    EK_ASSIGN_OR_RETURN(LocalBlob blob, OpenLocalBlob(files_, path, option));
    digest = ToProto(blob.digest);
    digests_.emplace(path, digest);
    blobs_.push_back(std::move(blob));
    return absl::OkStatus();
  }

  // By the file alone where that tells them apart.
  static void NameModels(v1::SweepRequest& request) {
    std::map<std::string, std::set<std::string>> files;  // By stem.
    const auto for_each = [&](const auto& visit) {
      for (v1::SweepGroup& group : *request.mutable_groups()) {
        for (v1::SweepModel& model : *group.mutable_models()) {
          if (model.name().empty()) visit(model);
        }
      }
    };
    for_each([&](v1::SweepModel& model) {
      files[StemOf(model.file())].insert(model.file());
    });
    for_each([&](v1::SweepModel& model) {
      const std::string stem = StemOf(model.file());
      model.set_name(files[stem].size() == 1 ? stem : model.file());
    });
  }

  FileSystem& files_;
  const std::string folder_;
  std::map<std::string, v1::Digest> digests_;  // By path.
  std::vector<LocalBlob> blobs_;
};

// The files of --data or --calibration.
absl::Status AddDataSet(const std::string& argument, absl::string_view option,
                        bool labels_needed, CommandContext& context,
                        SweepFiles& files) {
  if (argument.empty()) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(
      const std::vector<LocalBlob> opened,
      OpenDataSet(context.files, argument, option, labels_needed));
  for (const LocalBlob& blob : opened) files.Add()->set_file(blob.path);
  return absl::OkStatus();
}

// In each quantization that is varied; else in the only one.
void SetBudget(const CommandLine& line, v1::SweepGroup& group) {
  for (v1::SweepVary& vary : *group.mutable_vary()) {
    if (vary.quantizations().empty()) continue;
    for (v1::QuantizationConfig& config : *vary.mutable_quantizations()) {
      SetAccuracyBudget(line.accuracy_budget, config);
    }
    return;
  }
  SetAccuracyBudget(line.accuracy_budget, *group.mutable_options());
}

}  // namespace

absl::StatusOr<LocalSweep> OpenSweep(v1::SweepRequest request,
                                     std::string folder,
                                     CommandContext& context) {
  FileOpener opener(context.files, std::move(folder));
  EK_RETURN_IF_ERROR(opener.OpenAll(request));
  return LocalSweep{.request = std::move(request), .blobs = opener.TakeBlobs()};
}

absl::StatusOr<LocalSweep> SweepOfLine(CommandContext& context) {
  const CommandLine& line = context.line;
  v1::SweepRequest request;
  v1::SweepGroup& group = *request.add_groups();
  v1::SweepModel common;
  EK_RETURN_IF_ERROR(AddDataSet(line.calibration, "--calibration", false,
                                context, *common.mutable_calibration()));
  EK_RETURN_IF_ERROR(AddDataSet(line.data, "--data",
                                line.sweep.validate && NeedsLabels(line),
                                context, *common.mutable_data()));
  for (const v1::InputTransform& transform : line.transforms) {
    *common.add_transforms() = transform;
  }
  common.set_label_offset(line.label_offset);
  for (const std::string& path : line.sweep.models) {
    v1::SweepModel& model = *group.add_models();
    model = common;
    model.set_file(path);
  }
  for (const std::string& target : line.targets) {
    v1::SweepTarget& out = *group.add_targets();
    const bool is_file = target.find('*') == std::string::npos &&
                         NamesTargetFile(context.files, target);
    if (is_file) {
      out.set_file(target);
    } else {
      out.set_name(target);
    }
  }
  for (const std::string& recipe : line.sweep.recipes) {
    group.add_recipes(recipe);
  }
  for (const std::string& text : line.sweep.vary) {
    EK_ASSIGN_OR_RETURN(*group.add_vary(), ParseVary(text));
  }
  for (const std::string& text : line.sweep.exclude) {
    EK_ASSIGN_OR_RETURN(*group.add_exclude(), ParseExclude(text));
  }
  group.set_goal(line.sweep.validate ? v1::SWEEP_VALIDATE
                 : line.timing_only  ? v1::SWEEP_TIMING
                                     : v1::SWEEP_PROFILE);
  SetOptions(line, *group.mutable_options());
  if (!line.quantization.empty()) {
    EK_ASSIGN_OR_RETURN(*group.mutable_options()->mutable_quantization(),
                        ReadQuantizationFile(context.files, line.quantization,
                                             "--quantization"));
  }
  SetGates(line.gates, *group.mutable_gates());
  EK_ASSIGN_OR_RETURN(LocalSweep sweep,
                      OpenSweep(std::move(request), /*folder=*/"", context));
  SetBudget(line, *sweep.request.mutable_groups(0));
  return sweep;
}

absl::StatusOr<LocalSweep> SweepOfFile(CommandContext& context) {
  const std::string& path = context.line.names[0];
  const absl::StatusOr<std::string> text =
      context.files.Read(path, kMaxSweepFileBytes);
  if (!text.ok()) {
    return UnreadableError(path, path, text.status(),
                           "name a file with a sweep in it");
  }
  EK_ASSIGN_OR_RETURN(v1::SweepRequest request, ParseSweepFile(*text, path));
  const size_t slash = path.rfind('/');
  return OpenSweep(std::move(request),
                   slash == std::string::npos ? "" : path.substr(0, slash + 1),
                   context);
}

}  // namespace edgekiln::client
