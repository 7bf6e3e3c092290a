// What a change of a file sets in motion, and what the daemon answers.

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "client/exit_code.h"
#include "client/lsp/locate.h"
#include "client/lsp/server.h"
#include "reports/text/text.h"

namespace edgekiln::client::lsp {
namespace {

// Bases whose parameters are kept.
constexpr size_t kMaxKnownBases = 64;

constexpr char kModelComment[] = "model";

Problem TooLarge(const Document& document) {
  return {.severity = Severity::kError,
          .reason = "FILE_TOO_LARGE",
          .message = absl::StrCat(
              "the file is larger than ", kMaxDocumentBytes >> 20,
              " MiB, the most that is read; `extends` and `set` say the same "
              "in a few lines",
              document.dropped() ? "; open it again once it is shorter" : "")};
}

Problem Unchecked(Span head, absl::string_view until,
                  const v1::ErrorDetail& error) {
  std::string message =
      absl::StrCat("values are not checked, and nothing is profiled, until ",
                   until, ": ", ErrorText(error));
  return {.span = head,
          .severity = Severity::kInformation,
          .reason = error.reason(),
          .message = std::move(message)};
}

// A file names the model, and files come from anyone: nothing else is sent to a
// daemon.
bool IsModelFile(absl::string_view path) {
  return absl::EndsWithIgnoreCase(path, ".onnx") ||
         absl::EndsWithIgnoreCase(path, ".tflite");
}

std::string NameOfTarget(const OpenFile& file) {
  absl::string_view name(file.path());
  name = name.substr(std::min(name.rfind('/') + 1, name.size()));
  for (const char* suffix : {".txtpb", ".textproto"}) {
    name = absl::StripSuffix(name, suffix);
  }
  return name.empty() ? "target" : CleanText(name);
}

}  // namespace

void Server::Flush() {
  for (auto& [uri, file] : files_) {
    if (file->TakeChanged()) Check(*file);
  }
}

void Server::Check(OpenFile& file) {
  file.local.clear();
  file.run_again = false;
  for (std::vector<Problem>* problems : {&file.checked, &file.profiled}) {
    // They stay until the daemon has answered; their changes would hit another
    // text.
    for (Problem& problem : *problems) problem.fixes.clear();
  }
  if (file.document().too_large()) {
    file.local = {TooLarge(file.document())};
  } else if (file.kind() != nullptr) {
    file.local = CheckText(file.text(), file.syntax(), *file.kind(), schema_);
  }
  if (file.is_target()) LookUpBase(file);
  if (!file.local.empty() || !file.is_target()) {
    file.checked.clear();
    file.profiled.clear();
    daemon_.Forget(file.uri());
    LookForFiles(file, /*again=*/false);
    Publish(file);
    SetStale(file, true);
    return;
  }
  if (reached_) {
    daemon_.Check(file.uri(), file.version(), file.text());
    return;
  }
  file.checked = {Unchecked(HeadOf(file), "the daemon answers", unreached_)};
  file.profiled.clear();
  Publish(file);
  SetStale(file, file.figures_version != file.version());
}

// Names are typed letter by letter: only what the list has is asked for.
void Server::LookUpBase(OpenFile& file) {
  const std::string base =
      StringField(file.text(), file.syntax().fields, "extends");
  const bool listed =
      std::any_of(known_.list.begin(), known_.list.end(),
                  [&](const auto& target) { return target.first == base; });
  if (!listed || known_.parameters.count(base) > 0) return;
  if (known_.parameters.size() >= kMaxKnownBases) known_.parameters.clear();
  known_.parameters[base];
  daemon_.LookUp(base);
}

std::string Server::ModelFor(OpenFile& file) const {
  std::string model = CommentValue(file.text(), file.syntax(), kModelComment);
  std::string folder = file.path().empty() ? root_ : ParentPath(file.path());
  if (model.empty()) {
    model = model_;
    if (!root_.empty()) folder = root_;
  }
  if (model.empty() || absl::StartsWith(model, "/")) return model;
  return folder.empty() ? "" : JoinPath(folder, model);
}

void Server::StartRun(OpenFile& file) {
  if (!file.is_target() || !file.local.empty()) return;
  RunRequest request{.uri = file.uri(),
                     .version = file.version(),
                     .target_name = NameOfTarget(file),
                     .text = file.text(),
                     .model = ModelFor(file)};
  if (request.model != file.model) {
    // Figures of another model are nothing to compare with.
    file.model = request.model;
    file.figures.reset();
    file.baseline_cycles.reset();
  }
  if (request.model.empty()) {
    const bool shown = file.run_state != RunState::kNone;
    file.run_state = RunState::kNone;
    file.profiled.clear();
    if (shown) TellFigures(file);
    return;
  }
  // Of a text that the daemon refuses there is nothing to profile.
  if (!file.checked.empty()) return;
  if (!IsModelFile(request.model)) {
    v1::ErrorDetail problem;
    problem.set_reason(kReasonUsage);
    problem.set_what("the model is not a .onnx or .tflite file");
    problem.set_where(CleanText(request.model));
    On(RunAnswer{
        .uri = file.uri(), .version = file.version(), .problem = problem});
    return;
  }
  file.run_state = RunState::kRunning;
  file.run_version = file.version();
  daemon_.Run(std::move(request));
  TellFigures(file);
}

void Server::Handle(DaemonAnswer answer) {
  std::visit([this](auto& kind) { On(std::move(kind)); }, answer);
}

void Server::On(CheckAnswer answer) {
  const auto found = files_.find(answer.uri);
  if (found == files_.end()) return;
  OpenFile& file = *found->second;
  if (answer.version != file.version() || !file.local.empty()) return;
  if (answer.valid) {
    file.checked.clear();
    // Those of profiling stay until the new run has ended.
    Publish(file);
    StartRun(file);
    return;
  }
  file.profiled.clear();
  if (answer.failed) {
    file.checked = {Unchecked(HeadOf(file), "the next edit", answer.problem)};
    Log(LogLevel::kWarning, ErrorText(answer.problem));
  } else {
    file.checked = {ProblemOf(file.text(), file.syntax(), answer.problem)};
  }
  daemon_.Forget(file.uri());
  Publish(file);
  SetStale(file, true);
}

void Server::On(RunAnswer answer) {
  const auto found = files_.find(answer.uri);
  if (found == files_.end()) return;
  OpenFile& file = *found->second;
  // Later versions are of a file that was closed and opened again.
  if (answer.version < file.figures_version ||
      answer.version > file.version()) {
    return;
  }
  const bool newest = answer.version == file.version();
  if (answer.figures.has_value()) {
    file.figures = answer.figures;
    file.figures_version = answer.version;
    if (!file.baseline_cycles.has_value()) {
      file.baseline_cycles = answer.figures->cycles;
    }
    if (newest) {
      file.run_state = RunState::kDone;
      file.stale = false;
    }
    if (newest && !std::exchange(file.profiled, {}).empty()) Publish(file);
    TellFigures(file);
    return;
  }
  if (!newest) return;
  // Told already; once the daemon answers, the file is checked anew.
  if (!reached_ && answer.problem.reason() == unreached_.reason()) return;
  // Once for each text: the run may be what kills the daemon.
  if (answer.away && file.lost_version != file.version()) {
    file.lost_version = file.version();
    file.run_again = true;
    return;
  }
  file.run_state = RunState::kFailed;
  file.failure = answer.problem.what();
  Problem problem{
      .span = HeadOf(file),
      .severity = Severity::kWarning,
      .reason = answer.problem.reason(),
      .message = absl::StrCat("profiling: ", ErrorText(answer.problem))};
  file.profiled = {std::move(problem)};
  Publish(file);
  TellFigures(file);
}

void Server::On(ListAnswer answer) {
  known_.list = std::move(answer.targets);
  for (auto& [uri, file] : files_) {
    if (file->is_target()) LookUpBase(*file);
    if (std::exchange(file->run_again, false)) StartRun(*file);
  }
}

void Server::On(TargetAnswer answer) {
  known_.parameters[answer.name] = ParametersOf(answer.text);
}

void Server::On(ReachAnswer answer) {
  if (answer.reached == reached_) return;
  reached_ = answer.reached;
  unreached_ = std::move(answer.problem);
  if (reached_) {
    Log(LogLevel::kInfo, "the daemon answers again");
    // What was asked before may have had no answer.
    known_.parameters.clear();
    daemon_.List();
  } else {
    Log(LogLevel::kWarning, ErrorText(unreached_));
  }
  for (auto& [uri, file] : files_) {
    if (file->is_target()) Check(*file);
  }
}

void Server::DropFigures(OpenFile& file) {
  if (file.run_state == RunState::kNone) return;
  file.run_state = RunState::kNone;
  file.figures.reset();
  TellFigures(file);
}

void Server::SetStale(OpenFile& file, bool stale) {
  const bool cancelled = file.run_state == RunState::kRunning;
  if (cancelled) {
    file.run_state =
        file.figures.has_value() ? RunState::kDone : RunState::kNone;
  }
  const bool changed = file.figures.has_value() && file.stale != stale;
  if (changed) file.stale = stale;
  if (changed || cancelled) TellFigures(file);
}

void Server::Publish(OpenFile& file) { Send(Diagnostics(file, encoding_)); }

void Server::TellFigures(OpenFile& file) {
  static constexpr const char* kStates[] = {"none", "running", "done",
                                            "failed"};
  Json params = {{"uri", file.uri()},
                 {"version", file.version()},
                 {"state", kStates[static_cast<int>(file.run_state)]},
                 {"text", FiguresText(file)},
                 {"model", ModelFor(file)}};
  if (file.figures.has_value()) {
    params["figures"] = {{"version", file.figures_version},
                         {"cycles", file.figures->cycles},
                         {"latency_ms", file.figures->latency_ms},
                         {"memory", file.figures->memory},
                         {"memory_bytes", file.figures->memory_bytes}};
  }
  Send(Notification("edgekiln/figures", std::move(params)));
  // A lens changes with a result, not with every letter.
  if (!refreshes_lenses_ ||
      (file.run_state == RunState::kRunning && file.figures.has_value())) {
    return;
  }
  Ask("workspace/codeLens/refresh", nullptr);
}

}  // namespace edgekiln::client::lsp
