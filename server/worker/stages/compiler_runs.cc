#include "server/worker/stages/compiler_runs.h"

#include <signal.h>

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/firmware/own_kernels.h"
#include "compiler/codegen/firmware/runtime.h"
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

// Whether a line of some file is wrong, and not the compiler:
// "my.c:3:7: error: ..", "my.S:3: Error: ..".
bool NamesALine(absl::string_view message) {
  if (absl::StrContains(message, ": Error: ")) return true;  // An assembler's.
  absl::string_view place = message.substr(0, message.find("error: "));
  if (place.size() == message.size()) return false;
  if (!absl::ConsumeSuffix(&place, "fatal ")) {
    absl::ConsumeSuffix(&place, "Fatal ");
  }
  if (!absl::ConsumeSuffix(&place, ": ")) return false;
  const size_t end = place.find_last_not_of("0123456789");
  return end != absl::string_view::npos && end + 1 < place.size() &&
         place[end] == ':';
}

// Whether what is linked does not belong together.
bool NamesASymbol(absl::string_view message) {
  for (const char* mark :
       {"undefined reference", "undefined symbol", "multiple definition",
        "duplicate symbol", "overflowed", "will not fit", "overlap",
        "relocation"}) {
    if (absl::StrContains(message, mark)) return true;
  }
  return false;
}

// Of the machine, or of a program that ended early. They may follow a place in
// a source.
bool TellsOfTheMachine(absl::string_view text) {
  for (const char* mark :
       {"No space left on device", "Input/output error",
        "Resource temporarily unavailable", "Too many open files",
        "Operation not permitted", "internal compiler error",
        "signal terminated program", "terminated with signal"}) {
    if (absl::StrContains(text, mark)) return true;
  }
  return false;
}

constexpr char kLinking[] = "linking";

constexpr char kOwnFix[] =
    "correct c_sources of the target, or the arguments of c_kernels";

absl::Status TooSlow(absl::string_view program, const std::string& where,
                     std::string limit, bool is_own) {
  if (is_own) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.reason = "KERNEL_SOURCES_INVALID",
         .what = absl::StrCat(program, " took too long and was ended"),
         .where = where,
         .limit = std::move(limit),
         .fix = kOwnFix});
  }
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
                           const CompilerLimits& limits, bool debug_info,
                           std::vector<std::string> include_folders)
    : use_(use),
      programs_(std::move(programs)),
      folder_(std::move(folder)),
      limits_(limits),
      debug_info_(debug_info),
      include_folders_(std::move(include_folders)) {}

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

bool CompilerRuns::SeesOwnSources(const std::string& file) const {
  if (include_folders_.empty()) return false;
  return compiler::IsOwnPath(file) ||
         (absl::EndsWith(file, ".c") && file != compiler::kRuntimeFile);
}

bool CompilerRuns::IsOwnMistake(const ProgramEnd& end,
                                const std::string& file) const {
  if (end.signal != 0 || TellsOfTheMachine(end.errors)) return false;
  const bool is_linking = file == kLinking;
  if (is_linking ? include_folders_.empty() : !SeesOwnSources(file)) {
    return false;
  }
  for (const absl::string_view line : absl::StrSplit(end.errors, '\n')) {
    if (is_linking ? NamesASymbol(line) : NamesALine(line)) return true;
  }
  return false;
}

absl::Status CompilerRuns::Failed(const ProgramEnd& end, const ProgramRun& run,
                                  const std::string& name,
                                  const std::string& file) const {
  const std::string where = absl::StrCat("stage build_firmware, ", file);
  if (end.timed_out) {
    return TooSlow(name, where, absl::FormatDuration(limits_.time), false);
  }
  if (UsedUpCpuTime(end)) {
    return TooSlow(
        name, where,
        absl::StrCat(absl::FormatDuration(kCompilerCpuTime), " of CPU time"),
        compiler::IsOwnPath(file));
  }
  if (TellsOfMemory(end.errors) && limits_.memory_bytes > 0) {
    return OverMemoryLimit(where, limits_.memory_bytes, std::nullopt);
  }
  const std::string message = FirstMessage(end.errors);
  if (IsOwnMistake(end, file)) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.reason = "KERNEL_SOURCES_INVALID",
                      .what = absl::StrCat(
                          "the target's own kernels do not compile: ", message),
                      .where = where,
                      .fix = kOwnFix});
  }
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

std::vector<std::string> CompilerRuns::FlagsOf(
    const std::string& source) const {
  std::vector<std::string> flags = target::CompileFlags(use_);
  Append({"-I.", "-w", "-frandom-seed=edgekiln"}, flags);
  if (SeesOwnSources(source)) {
    for (const std::string& folder : include_folders_) {
      Append({"-isystem", folder}, flags);
    }
    // Equal sources become equal bytes whatever they ask for.
    for (const char* name : {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
      flags.push_back(absl::StrCat("-D", name, "=\"\""));
    }
  }
  flags.emplace_back(use_.family == v1::GCC ? "-fcallgraph-info=su"
                                            : "-fstack-usage");
  return flags;
}

absl::Status CompilerRuns::Compile(const std::string& source, int number) {
  std::vector<std::string> arguments = FlagsOf(source);
  if (debug_info_) Append(DebugFlags(), arguments);
  Append({"-c", "-o", absl::StrCat("../objects/", number, ".o"), source},
         arguments);
  const ProgramRun run = RunOf(programs_.compiler, std::move(arguments));
  EK_ASSIGN_OR_RETURN(const ProgramEnd end, RunProgram(run));
  return end.ok() ? absl::OkStatus() : Failed(end, run, use_.program, source);
}

absl::Status CompilerRuns::WriteAssembly(const std::string& source,
                                         int number) {
  std::vector<std::string> arguments = FlagsOf(source);
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
  absl::Status failed = Failed(end, run, target::LinkProgram(use_), kLinking);
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
