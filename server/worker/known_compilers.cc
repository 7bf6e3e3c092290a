#include "server/worker/known_compilers.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace edgekiln::server {
namespace {

constexpr char kBegin[] = "edgekiln compilers 1 ";
constexpr char kEnd[] = "end";

// Paths may hold spaces: they come last.
std::string CompilerLine(const v1::Compiler& compiler) {
  return absl::StrCat("compiler ", static_cast<int>(compiler.family()), " ",
                      compiler.version(), " ", compiler.digest(), " ",
                      compiler.program(), "\n");
}

bool ParseCompiler(absl::string_view line, v1::Compiler& compiler) {
  const std::vector<std::string> words =
      absl::StrSplit(line, absl::MaxSplits(' ', 3));
  int family = 0;
  if (words.size() != 4 || !absl::SimpleAtoi(words[0], &family) ||
      !v1::CompilerFamily_IsValid(family) || words[2].size() != 64) {
    return false;
  }
  compiler.set_family(static_cast<v1::CompilerFamily>(family));
  compiler.set_version(words[1]);
  compiler.set_digest(words[2]);
  compiler.set_program(words[3]);
  return true;
}

bool ParseFile(absl::string_view line, KnownCompiler::File& file) {
  const std::vector<std::string> words =
      absl::StrSplit(line, absl::MaxSplits(' ', 2));
  int64_t nanoseconds = 0;
  if (words.size() != 3 || !absl::SimpleAtoi(words[0], &file.size_bytes) ||
      !absl::SimpleAtoi(words[1], &nanoseconds)) {
    return false;
  }
  file.modified = absl::FromUnixNanos(nanoseconds);
  file.path = words[2];
  return true;
}

bool HasNewline(const KnownCompiler& known) {
  const auto has = [](absl::string_view text) {
    return absl::StrContains(text, '\n');
  };
  return std::any_of(known.files.begin(), known.files.end(),
                     [&](const auto& file) { return has(file.path); }) ||
         std::any_of(known.folders.begin(), known.folders.end(), has);
}

}  // namespace

std::string ChangedFile(const KnownCompiler& known, FileSystem& disk) {
  for (const KnownCompiler::File& file : known.files) {
    const auto info = disk.Stat(file.path);
    if (!info.ok() || info->size_bytes != file.size_bytes ||
        info->modified != file.modified) {
      return file.path;
    }
  }
  return "";
}

std::string KnownCompilersText(const std::vector<KnownCompiler>& known,
                               absl::string_view key) {
  std::string text = absl::StrCat(kBegin, key, "\n");
  for (const KnownCompiler& one : known) {
    if (HasNewline(one)) continue;
    absl::StrAppend(&text, CompilerLine(one.compiler));
    for (const KnownCompiler::File& file : one.files) {
      absl::StrAppend(&text, "file ", file.size_bytes, " ",
                      absl::ToUnixNanos(file.modified), " ", file.path, "\n");
    }
    for (const std::string& folder : one.folders) {
      absl::StrAppend(&text, "folder ", folder, "\n");
    }
  }
  return absl::StrCat(text, kEnd, "\n");
}

std::vector<KnownCompiler> ParseKnownCompilers(absl::string_view text,
                                               absl::string_view key) {
  if (!absl::ConsumePrefix(&text, absl::StrCat(kBegin, key, "\n"))) return {};
  std::vector<KnownCompiler> known;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line == kEnd) return known;
    if (absl::ConsumePrefix(&line, "compiler ")) {
      if (!ParseCompiler(line, known.emplace_back().compiler)) return {};
      continue;
    }
    if (known.empty()) return {};
    if (absl::ConsumePrefix(&line, "file ")) {
      if (!ParseFile(line, known.back().files.emplace_back())) return {};
    } else if (absl::ConsumePrefix(&line, "folder ")) {
      known.back().folders.emplace_back(line);
    } else {
      return {};
    }
  }
  return {};  // Without its end.
}

}  // namespace edgekiln::server
