#ifndef EK_CLIENT_COMMAND_LINE_H_
#define EK_CLIENT_COMMAND_LINE_H_

// argv as a typed value. Touches neither files nor the network.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/gates.h"
#include "client/job_filter.h"
#include "client/option_values.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::client {

enum class Command {
  kHelp,     // `text` is what to print.
  kVersion,  // Likewise.
  kInspect,
  kQuantize,
  kCompile,
  kProfile,
  kValidate,
  kRun,
  kTargetsList,
  kTargetsShow,
  kTargetsCheck,
  kTargetsSources,
  kJobsList,
  kJobsShow,
  kJobsWatch,
  kJobsLog,
  kJobsCancel,
  kSweep,
  kSweepRun,
  kSweepList,
  kSweepShow,
  kSweepWatch,
  kSweepCancel,
  kQuarantineList,
  kQuarantineRelease,
  kTop,
  kReportShow,
  kReportDiff,
  kReportBaseline,
  kReportHtml,
  kReportExport,
  kCheck,
  kInit,
  kLsp,
  kCompletion,  // `text` is what to print.
  kMan,         // Likewise.
};

// Of sweep and the commands below it.
struct SweepLine {
  std::vector<std::string> models;
  std::vector<std::string> recipes;
  std::vector<std::string> vary;     // As ParseVary() takes them.
  std::vector<std::string> exclude;  // As ParseExclude() takes them.
  bool validate = false;
  bool dry_run = false;
  bool detach = false;
  std::string csv;                    // A file or "-"; empty: none.
  std::vector<std::string> memories;  // To show and compare by.
};

// Of check and init.
struct CheckLine {
  bool update_baselines = false;
  std::string junit;  // A file or "-"; empty: none. Likewise the next two.
  std::string markdown;
  std::string sarif;
  bool github_annotations = false;
  bool force = false;  // init.
};

// Every option of every command; those a command does not have keep their
// defaults.
struct CommandLine {
  Command command = Command::kHelp;
  std::string text;

  // Common.
  std::string server;                 // Empty: a local daemon.
  bool server_from_variable = false;  // From EDGEKILN_SERVER, not --server.
  bool json = false;
  bool quiet = false;
  bool stages = false;  // With a report: the table of its stages.
  // compile, profile, validate, run, jobs watch: events as they come, with
  // `json`. jobs log: until the job ends.
  bool follow = false;
  absl::Duration timeout = absl::InfiniteDuration();

  // Model commands.
  std::string model;
  std::string document;  // compile: instead of `model`; empty: not given.
  std::vector<std::string> targets;
  std::string recipe;        // Of all targets. Empty: not given.
  std::string network_name;  // compile. Empty: not given.
  // compile, profile, validate, run. Unspecified: not given.
  v1::Offload offload = v1::OFFLOAD_UNSPECIFIED;
  v1::CompilerFamily compiler = v1::COMPILER_FAMILY_UNSPECIFIED;
  std::string data;
  std::string calibration;
  // compile: a folder; run: a .npz file; report baseline: a .json file;
  // quantize: an .onnx file; report html, report export: a file.
  std::string output;
  std::vector<v1::InputTransform> transforms;
  std::vector<v1::DimensionBinding> dimensions;
  std::vector<NamedFile> bound_inputs;
  std::vector<NamedFile> external_data;
  std::optional<v1::CalibrateOptions> calibration_method;
  std::string quantization;               // A file; empty: not given.
  std::optional<double> accuracy_budget;  // Percentage points.
  bool compare = false;                   // quantize.
  std::optional<uint64_t> seed;
  std::optional<int64_t> limit;
  int32_t label_offset = 0;                    // validate, quantize.
  v1::Metric metric = v1::METRIC_UNSPECIFIED;  // validate. Not given.
  bool confusion = false;                      // validate.
  Gates gates;                                 // compile, profile, validate.
  bool timing_only = false;                    // profile.
  std::string timeline;                        // profile: a file; empty: none.
  bool hot = false;                            // profile.
  v1::IoForm io = v1::IO_FORM_UNSPECIFIED;  // compile, profile, validate, run.
  // compile, profile, validate, run. Unspecified: not given.
  v1::JobClass job_class = v1::JOB_CLASS_UNSPECIFIED;
  // compile, profile, validate.
  std::string slot;  // Empty: none.
  absl::Duration queue_timeout = absl::InfiniteDuration();
  absl::Duration run_timeout = absl::InfiniteDuration();

  // targets show, targets check, jobs show | watch | log | cancel, quarantine
  // release, report show | diff | baseline | html | export, check, init,
  // completion, man.
  std::vector<std::string> names;
  RegressionLimits regression;                       // report diff.
  ReportFormat export_format = ReportFormat::kJson;  // report export.
  JobFilter job_filter;                              // jobs list.
  bool once = false;                                 // top.
  absl::Duration interval = absl::Seconds(1);        // top.
  SweepLine sweep;
  CheckLine check;
  bool list_pages = false;  // man.
  bool stdio = true;        // lsp: what editors say.
};

// What the environment says, read by main() alone.
struct Environment {
  std::string server;  // EDGEKILN_SERVER: as --server. Empty: not set.
};

// Whether all there is to do is to print `text`.
bool IsText(Command command);

// `args` without the program's name; options go before the environment. Errors
// are usage errors; an unknown option or command suggests the nearest known
// one.
absl::StatusOr<CommandLine> ParseCommandLine(
    const std::vector<std::string>& args, const Environment& environment = {});

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMAND_LINE_H_
