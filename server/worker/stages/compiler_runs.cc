#include "server/worker/stages/compiler_runs.h"

#include <signal.h>

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/worker_limits.h"

namespace edgekiln::server {
namespace {

constexpr int kMaxMessageBytes = 300;

void Append(absl::Span<const std::string> more,
            std::vector<std::string>& arguments) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

// The line that says what is wrong; others lead there.
std::string FirstMessage(absl::string_view text) {
  std::string first;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty()) continue;
    if (first.empty()) first = std::string(line);
    for (const char* mark : {"error:", "Error:", "undefined reference",
                             "undefined symbol", "overflowed", "will not fit",
                             "multiple "
                             "definition"}) {
      if (absl::StrContains(line, mark)) {
        return SanitizeText(std::string(line), kMaxMessageBytes);
      }
    }
  }
  return SanitizeText(first, kMaxMessageBytes);
}

bool TellsOfMemory(absl::string_view text) {
  for (const char* mark :
       {"out of memory", "memory exhausted", "Cannot allocate memory"}) {
    if (absl::StrContains(text, mark)) return true;
  }
  return false;
}

// Programs that it starts are limited as it is; it tells of their end.
bool UsedUpCpuTime(const ProgramEnd& end) {
  return end.signal == SIGXCPU ||
         absl::StrContains(end.errors, "CPU time limit exceeded");
}

absl::Status TooSlow(absl::string_view program, const std::string& where,
                     std::string limit) {
  return MakeError(
      absl::StatusCode::kDeadlineExceeded,
      {.fault = Fault::kInfra,
       .reason = "COMPILER_TIMEOUT",
       .what = absl::StrCat(program, " took too long and was ended"),
       .where = where,
       .limit = std::move(limit),
       .fix = "use --recipe size, which makes less code, or --compiler none; "
              "if small models take as long, look at the compiler of the "
              "worker's machine"});
}

}  // namespace

CompilerRuns::CompilerRuns(const target::CompilerUse& use,
                           CompilerPrograms programs, std::string folder,
                           const CompilerLimits& limits, bool debug_info)
    : use_(use),
      programs_(std::move(programs)),
      folder_(std::move(folder)),
      limits_(limits),
      debug_info_(debug_info) {}

std::string CompilerRuns::ObjectPath(const std::string& name) const {
  return absl::StrCat(folder_, "/objects/", name);
}

ProgramRun CompilerRuns::RunOf(const std::string& program,
                               std::vector<std::string> arguments) const {
  return {.program = program,
          .arguments = std::move(arguments),
          .environment = {"LC_ALL=C", "SOURCE_DATE_EPOCH=0",
                          absl::StrCat("PATH=", SearchPath()),
                          // By the name that DebugFlags() replaces, not by the
                          // one that links lead to.
                          absl::StrCat("PWD=", folder_, "/tree"),
                          absl::StrCat("TMPDIR=", folder_)},
          .folder = absl::StrCat(folder_, "/tree"),
          .time_limit = limits_.time,
          .in_callers_group = limits_.in_callers_group};
}

absl::Status CompilerRuns::Failed(const ProgramEnd& end, const ProgramRun& run,
                                  const std::string& name,
                                  const std::string& file) const {
  const std::string where = absl::StrCat("stage build_firmware, ", file);
  if (end.timed_out) {
    return TooSlow(name, where, absl::FormatDuration(limits_.time));
  }
  if (UsedUpCpuTime(end)) {
    return TooSlow(
        name, where,
        absl::StrCat(absl::FormatDuration(kCompilerCpuTime), " of CPU time"));
  }
  if (TellsOfMemory(end.errors) && limits_.memory_bytes > 0) {
    return OverMemoryLimit(where, limits_.memory_bytes, std::nullopt);
  }
  const std::string message = FirstMessage(end.errors);
  return MakeError(
      absl::StatusCode::kInternal,
      {.fault = Fault::kInfra,
       .reason = "COMPILER_FAILED",
       .what = absl::StrCat(name, " ended with ", EndText(end, run),
                            message.empty() ? "" : ": ", message),
       .where = where,
       .fix = "report this together with the model"});
}

// Only line tables. What gcc keeps for the values of variables, and the marks
// of statements that it would carry through its passes, are left out; nothing
// of it names flags or this machine's folders.
std::vector<std::string> CompilerRuns::DebugFlags() const {
  std::vector<std::string> flags = {
      absl::StrCat("-fdebug-prefix-map=", folder_, "/tree=.")};
  if (use_.family == v1::GCC) {
    Append({"-g1", "-gdwarf-5", "-gno-column-info", "-gno-record-gcc-switches",
            "-gno-statement-frontiers", "-gno-variable-location-views"},
           flags);
  } else {
    // Its assembler maps no prefixes.
    Append({"-fdebug-compilation-dir=.", "-gline-tables-only", "-gdwarf-5",
            "-gno-column-info"},
           flags);
  }
  return flags;
}

std::vector<std::string> CompilerRuns::Flags() const {
  std::vector<std::string> flags = target::CompileFlags(use_);
  Append({"-I.", "-w", "-frandom-seed=edgekiln"}, flags);
  flags.emplace_back(use_.family == v1::GCC ? "-fcallgraph-info=su"
                                            : "-fstack-usage");
  return flags;
}

absl::Status CompilerRuns::Compile(const std::string& source, int number) {
  std::vector<std::string> arguments = Flags();
  if (debug_info_) Append(DebugFlags(), arguments);
  Append({"-c", "-o", absl::StrCat("../objects/", number, ".o"), source},
         arguments);
  const ProgramRun run = RunOf(programs_.compiler, std::move(arguments));
  EK_ASSIGN_OR_RETURN(const ProgramEnd end, RunProgram(run));
  return end.ok() ? absl::OkStatus() : Failed(end, run, use_.program, source);
}

absl::Status CompilerRuns::WriteAssembly(const std::string& source,
                                         int number) {
  std::vector<std::string> arguments = Flags();
  Append({"-S", "-o", absl::StrCat("../objects/", number, ".s"), source},
         arguments);
  const ProgramRun run = RunOf(programs_.compiler, std::move(arguments));
  EK_ASSIGN_OR_RETURN(const ProgramEnd end, RunProgram(run));
  return end.ok() ? absl::OkStatus() : Failed(end, run, use_.program, source);
}

absl::StatusOr<CompilerRuns::Linked> CompilerRuns::LinkWith(
    int objects, const std::string& name,
    const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = target::LinkFlags(use_);
  Append(flags, arguments);
  for (int i = 0; i < objects; ++i) {
    arguments.push_back(absl::StrCat("../objects/", i, ".o"));
  }
  Append({"-o", absl::StrCat("../objects/", name)}, arguments);
  const ProgramRun run = RunOf(programs_.linker, std::move(arguments));
  EK_ASSIGN_OR_RETURN(const ProgramEnd end, RunProgram(run));
  if (end.ok()) return Linked{.ok = true, .why = absl::OkStatus()};
  absl::Status failed = Failed(end, run, target::LinkProgram(use_), "linking");
  if (end.timed_out || UsedUpCpuTime(end)) return failed;
  return Linked{.ok = false, .why = std::move(failed)};
}

absl::StatusOr<CompilerRuns::Linked> CompilerRuns::Link(
    int objects, const std::string& name) {
  return LinkWith(objects, name, {});
}

absl::StatusOr<CompilerRuns::Linked> CompilerRuns::Link(
    int objects, const std::string& name, const MemoryLengths& lengths) {
  return LinkWith(
      objects, name,
      target::LengthFlags(use_, lengths.flash_bytes, lengths.ram_bytes));
}

}  // namespace edgekiln::server
