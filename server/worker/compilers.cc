#include "server/worker/compilers.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/worker/run_program.h"
#include "target/firmware.h"

namespace edgekiln::server {
namespace {

constexpr size_t kMaxVersionBytes = 32;
constexpr int64_t kMaxAnswerBytes = 64 << 10;
constexpr int64_t kMaxMemoryBytes = int64_t{1} << 20;
// Small enough to stay in the caches of a core.
constexpr int64_t kChunkBytes = int64_t{128} << 10;
constexpr int64_t kMaxFileBytes = int64_t{1} << 30;
// Where the linker puts the build id of a shared library.
constexpr int64_t kHeadBytes = int64_t{64} << 10;

// "12.2.0".
bool IsVersion(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxVersionBytes &&
         absl::ascii_isdigit(text.front()) &&
         absl::ascii_isdigit(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isdigit(c) || c == '.'; });
}

// Shared libraries that hold what decides about code; those of the C library
// and the like do not.
bool IsPartOfCompiler(absl::string_view library) {
  for (const char* name :
       {"libLLVM", "libclang", "libbfd", "libopcodes", "libctf"}) {
    if (absl::StartsWith(library, name)) return true;
  }
  return false;
}

// A linker's note: a hash of all that the file holds.
bool HasBuildId(absl::string_view head) {
  constexpr absl::string_view kNote("\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", 16);
  return absl::StrContains(head, kNote);
}

std::string RealPath(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

// Describes one compiler.
class Finder {
 public:
  Finder(const target::CompilerUse& use, std::string program,
         const std::string& path, absl::Duration answer_time)
      : use_(use),
        program_(std::move(program)),
        path_(path),
        answer_time_(answer_time) {}

  absl::StatusOr<KnownCompiler> Describe() {
    EK_ASSIGN_OR_RETURN(
        const std::string version,
        Answer(program_, {use_.family == v1::CLANG ? "-dumpversion"
                                                   : "-dumpfullversion"}));
    if (!IsVersion(version)) {
      return absl::UnavailableError(
          absl::StrCat("its version is '", SanitizeText(version, 64), "'"));
    }
    EK_RETURN_IF_ERROR(Hash("driver", program_));
    if (use_.family == v1::CLANG) {
      EK_RETURN_IF_ERROR(HashLibraries(program_));
      EK_RETURN_IF_ERROR(HashLinker());
    } else {
      // gcc's own driver computes nothing.
      EK_RETURN_IF_ERROR(HashParts());
    }
    v1::Compiler& compiler = known_.compiler;
    compiler.set_family(use_.family);
    compiler.set_program(use_.program);
    compiler.set_version(version);
    compiler.set_digest(sha_.Finish().hash);
    known_.folders.emplace_back(ParentPath(program_));
    for (const KnownCompiler::File& file : known_.files) {
      known_.folders.emplace_back(ParentPath(file.path));
    }
    std::sort(known_.folders.begin(), known_.folders.end());
    known_.folders.erase(
        std::unique(known_.folders.begin(), known_.folders.end()),
        known_.folders.end());
    return std::move(known_);
  }

 private:
  // The first line of what a program answers.
  absl::StatusOr<std::string> Answer(const std::string& program,
                                     std::vector<std::string> arguments,
                                     const std::string& variable = "") {
    EK_ASSIGN_OR_RETURN(const std::string output,
                        Output(program, std::move(arguments), variable));
    return std::string(
        absl::StripAsciiWhitespace(output.substr(0, output.find('\n'))));
  }

  absl::StatusOr<std::string> Output(const std::string& program,
                                     std::vector<std::string> arguments,
                                     const std::string& variable = "") {
    ProgramRun run = {.program = program,
                      .arguments = std::move(arguments),
                      .environment = {"LC_ALL=C", "PATH=" + path_},
                      .time_limit = answer_time_,
                      .max_output_bytes = kMaxAnswerBytes};
    if (!variable.empty()) run.environment.push_back(variable);
    EK_ASSIGN_OR_RETURN(ProgramEnd end, RunProgram(run));
    if (end.ok()) return std::move(end.output);
    return absl::UnavailableError(absl::StrCat(
        absl::StrJoin(run.arguments, " "), " ended with ", EndText(end, run)));
  }

  // The folders where it looks for its parts, separated by ':'.
  absl::StatusOr<std::string> ProgramFolders() {
    // All of it at once: starting a compiler takes longer than its answer.
    std::vector<std::string> arguments = use_.flags;
    arguments.emplace_back("-print-search-dirs");
    EK_ASSIGN_OR_RETURN(const std::string output, Output(program_, arguments));
    std::string folders;
    for (absl::string_view line : absl::StrSplit(output, '\n')) {
      if (absl::ConsumePrefix(&line, "install: ")) {
        // Of gcc; headers lie there, too.
        known_.folders.emplace_back(line);
      } else if (absl::ConsumePrefix(&line, "programs: =")) {
        folders = std::string(line);
      }
    }
    return folders;
  }

  // The file in the first of the folders that has it, as the compiler does.
  absl::StatusOr<std::string> Find(absl::string_view name,
                                   absl::string_view folders) {
    for (const absl::string_view folder : absl::StrSplit(folders, ':')) {
      if (!absl::StartsWith(folder, "/")) continue;
      std::string file = JoinPath(folder, name);
      const absl::StatusOr<FileInfo> info = disk_->Stat(file);
      if (info.ok() && !info->is_directory) return file;
    }
    return absl::UnavailableError(absl::StrCat("it has no ", name));
  }

  // What gcc starts.
  absl::Status HashParts() {
    EK_ASSIGN_OR_RETURN(const std::string folders, ProgramFolders());
    for (const std::string part : {"cc1", "collect2", "as", "ld"}) {
      EK_ASSIGN_OR_RETURN(const std::string file,
                          Find(part, absl::StrCat(folders, ":", path_)));
      EK_RETURN_IF_ERROR(Hash(part, file));
      const bool of_binutils = part == "as" || part == "ld";
      if (of_binutils) EK_RETURN_IF_ERROR(HashLibraries(file));
    }
    return absl::OkStatus();
  }

  // What clang starts; all else it does itself.
  absl::Status HashLinker() {
    // Its headers lie there.
    EK_ASSIGN_OR_RETURN(std::string folder,
                        Answer(program_, {"-print-resource-dir"}));
    known_.folders.push_back(std::move(folder));
    const auto linker = FindProgram(use_.linker, path_);
    if (!linker) {
      return absl::UnavailableError(
          absl::StrCat("there is no ", use_.linker, ", which links what it ",
                       "makes; apt-get install ", use_.package));
    }
    EK_RETURN_IF_ERROR(Hash(use_.linker, *linker));
    return HashLibraries(*linker);
  }

  // Of those that are part of the compiler.
  absl::Status HashLibraries(const std::string& program) {
    // The loader prints "\tNAME => PATH (ADDRESS)", and starts nothing.
    EK_ASSIGN_OR_RETURN(
        const std::string list,
        Output(program, {"--version"}, "LD_TRACE_LOADED_OBJECTS=1"));
    for (const absl::string_view line : absl::StrSplit(list, '\n')) {
      const std::vector<absl::string_view> words =
          absl::StrSplit(absl::StripAsciiWhitespace(line), ' ');
      if (words.size() < 3 || words[1] != "=>" || !IsPartOfCompiler(words[0])) {
        continue;
      }
      EK_RETURN_IF_ERROR(Hash(words[0], std::string(words[2]), true));
    }
    return absl::OkStatus();
  }

  // Takes name, size and contents into the digest; of a library with a build
  // id, its head.
  absl::Status Hash(absl::string_view name, const std::string& path,
                    bool is_library = false) {
    const std::string real = RealPath(path);
    EK_ASSIGN_OR_RETURN(const FileInfo info, disk_->Stat(real));
    if (info.is_directory || info.size_bytes > kMaxFileBytes) {
      return absl::UnavailableError(absl::StrCat(real, " is no part of it"));
    }
    sha_.Update(absl::StrCat(name, "\n", info.size_bytes, "\n"));
    for (int64_t at = 0; at < info.size_bytes;) {
      const int64_t size = is_library && at == 0 ? kHeadBytes : kChunkBytes;
      EK_ASSIGN_OR_RETURN(const std::string bytes,
                          disk_->ReadRange(real, at, size));
      if (bytes.empty()) {
        return absl::UnavailableError(absl::StrCat(real, " became shorter"));
      }
      sha_.Update(bytes);
      if (is_library && at == 0 && HasBuildId(bytes)) break;
      at += static_cast<int64_t>(bytes.size());
    }
    known_.files.push_back({real, info.size_bytes, info.modified});
    return absl::OkStatus();
  }

  const target::CompilerUse& use_;
  const std::string program_;
  const std::string& path_;
  const absl::Duration answer_time_;
  const std::unique_ptr<FileSystem> disk_ = NewPosixFileSystem();
  Sha256 sha_;
  KnownCompiler known_;
};

// What decides how a compiler is described, besides its files.
std::string KeyOf(const std::string& path) {
  std::string text = absl::StrCat(path, "\n");
  for (const target::ProcessorInfo& info : target::Processors()) {
    for (const target::CompilerUse& use : info.compilers) {
      absl::StrAppend(&text, use.program, " ", use.linker, " ",
                      absl::StrJoin(use.flags, " "), "\n");
    }
  }
  return DigestOf(text).hash;
}

// Replaces the file, but does not wait for the disk: half a text is none.
absl::Status Keep(const std::string& text, const std::string& path,
                  FileSystem& disk) {
  const std::string temporary = absl::StrCat(path, ".tmp.", getpid());
  EK_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file,
                      disk.Open(temporary, OpenMode::kTruncate));
  EK_RETURN_IF_ERROR(file->Append(text));
  EK_RETURN_IF_ERROR(file->Close());
  return disk.Rename(temporary, path);
}

// The one whose driver lies there; null if it is not known, or has changed.
const KnownCompiler* FindKnown(const std::vector<KnownCompiler>& known,
                               const std::string& program, FileSystem& disk) {
  for (const KnownCompiler& one : known) {
    if (!one.files.empty() && one.files[0].path == RealPath(program) &&
        ChangedFile(one, disk).empty()) {
      return &one;
    }
  }
  return nullptr;
}

}  // namespace

void InstalledCompilers::Add(KnownCompiler found) {
  list_.push_back(found.compiler);
  found_.push_back(std::move(found));
}

InstalledCompilers InstalledCompilers::Find(const std::string& path,
                                            const std::string& memory,
                                            absl::Duration answer_time) {
  const auto disk = NewPosixFileSystem();
  const std::string key = KeyOf(path);
  std::string text;
  if (!memory.empty()) {
    text = disk->Read(memory, kMaxMemoryBytes).value_or("");
  }
  const std::vector<KnownCompiler> known = ParseKnownCompilers(text, key);
  InstalledCompilers result;
  std::set<std::string> programs;
  for (const target::ProcessorInfo& info : target::Processors()) {
    for (const target::CompilerUse& use : info.compilers) {
      if (!programs.insert(use.program).second) continue;
      const auto program = FindProgram(use.program, path);
      if (!program) continue;
      if (const auto* const one = FindKnown(known, *program, *disk)) {
        result.Add(*one);
        continue;
      }
      auto described = Finder(use, *program, path, answer_time).Describe();
      if (described.ok()) {
        result.Add(*std::move(described));
      } else {
        result.problems_.push_back(
            absl::StrCat(*program, ": ", described.status().message()));
      }
    }
  }
  std::set<std::string> folders;
  for (const KnownCompiler& one : result.found_) {
    folders.insert(one.folders.begin(), one.folders.end());
  }
  for (const std::string& folder : folders) {
    if (!absl::StartsWith(folder + "/", "/usr/")) {
      result.folders_.push_back(folder);
    }
  }
  const std::string now = KnownCompilersText(result.found_, key);
  // Without it, the next start takes as long as this one.
  if (!memory.empty() && now != text) Keep(now, memory, *disk).IgnoreError();
  return result;
}

absl::Status InstalledCompilers::Check(const v1::Compiler& compiler) const {
  const auto fail = [&](const char* reason, const char* what,
                        const std::string& where) {
    return MakeError(
        absl::StatusCode::kUnavailable,
        {.fault = Fault::kInfra,
         .reason = reason,
         .what = what,
         .where = where,
         .need = absl::StrCat(compiler.program(), " ", compiler.version(), " (",
                              compiler.digest(), ")"),
         .fix = "run the job again; a compiler that is new on the "
                "worker's machine is found when the worker is restarted"});
  };
  for (const KnownCompiler& one : found_) {
    if (one.compiler.program() != compiler.program()) continue;
    // It may be the wanted one by now.
    const std::string changed = ChangedFile(one, *NewPosixFileSystem());
    if (!changed.empty()) {
      return fail("COMPILER_CHANGED",
                  "a worker's compiler has changed meanwhile", changed);
    }
    if (compiler.digest().empty() ||
        one.compiler.digest() == compiler.digest()) {
      return absl::OkStatus();
    }
  }
  return fail("COMPILER_MISSING", "a worker does not have the compiler",
              CompilersText(*this));
}

bool IsCompilerChanged(const absl::Status& checked) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(checked);
  return detail.has_value() && detail->reason == "COMPILER_CHANGED";
}

std::string CompilersText(const InstalledCompilers& compilers) {
  std::vector<std::string> names;
  for (const v1::Compiler& compiler : compilers.list()) {
    names.push_back(absl::StrCat(compiler.program(), " ", compiler.version(),
                                 " (", compiler.digest().substr(0, 8), ")"));
  }
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

}  // namespace edgekiln::server
