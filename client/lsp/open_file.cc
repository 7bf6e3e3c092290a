#include "client/lsp/open_file.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/format_bytes.h"
#include "reports/text/text.h"

namespace edgekiln::client::lsp {
namespace {

constexpr char kFileScheme[] = "file://";

// " (-3.2 %)" against the baseline, " (-56)" cycles where that would be 0.0 %;
// empty where nothing changed.
std::string ChangeText(const OpenFile& file) {
  if (!file.baseline_cycles.has_value() || *file.baseline_cycles <= 0 ||
      *file.baseline_cycles == file.figures->cycles) {
    return "";
  }
  const int64_t cycles = file.figures->cycles - *file.baseline_cycles;
  const double change = 100.0 * static_cast<double>(cycles) /
                        static_cast<double>(*file.baseline_cycles);
  if (std::abs(change) < 0.05) return absl::StrFormat(" (%+d)", cycles);
  return absl::StrFormat(" (%+.1f %%)", change);
}

}  // namespace

std::string PathOf(const std::string& uri) {
  absl::string_view rest(uri);
  if (!absl::ConsumePrefix(&rest, kFileScheme)) return "";
  const size_t slash = rest.find('/');
  if (slash == absl::string_view::npos) return "";
  rest.remove_prefix(slash);  // The host.
  std::string path;
  for (size_t i = 0; i < rest.size(); ++i) {
    uint32_t code = 0;
    if (rest[i] == '%' && i + 2 < rest.size() &&
        absl::SimpleHexAtoi(rest.substr(i + 1, 2), &code) && code != 0) {
      path += static_cast<char>(code);
      i += 2;
    } else {
      path += rest[i];
    }
  }
  return path;
}

OpenFile::OpenFile(std::string uri, std::string text, int64_t version,
                   const Schema& schema)
    : schema_(schema),
      uri_(std::move(uri)),
      path_(PathOf(uri_)),
      document_(std::move(text), version) {}

void OpenFile::Apply(const Edit& edit, int64_t version, Encoding encoding) {
  document_.Apply(edit, version, encoding);
  changed_ = true;
  read_ = false;
}

void OpenFile::Read() {
  if (read_) return;
  read_ = true;
  syntax_ = document_.too_large() ? Syntax() : ParseSyntax(text());
  kind_ = document_.too_large()
              ? nullptr
              : schema_.KindOf(path_.empty() ? uri_ : path_, text(), syntax_);
}

const Syntax& OpenFile::syntax() {
  Read();
  return syntax_;
}

const FileKind* OpenFile::kind() {
  Read();
  return kind_;
}

bool OpenFile::is_target() {
  return kind() != nullptr && kind()->what == "target" &&
         !syntax().fields.empty();
}

std::vector<Problem> ProblemsOf(const OpenFile& file) {
  if (!file.local.empty()) return file.local;
  std::vector<Problem> problems = file.checked;
  problems.insert(problems.end(), file.profiled.begin(), file.profiled.end());
  return problems;
}

Span HeadOf(OpenFile& file) {
  const std::vector<Node>& fields = file.syntax().fields;
  for (const absl::string_view key : {"extends", "name"}) {
    const Node* const node = FindField(file.text(), fields, key);
    if (node != nullptr) return node->whole();
  }
  return fields.empty() ? Span{} : fields.front().name;
}

std::string FiguresText(const OpenFile& file) {
  if (file.run_state == RunState::kFailed) return file.failure;
  if (!file.figures.has_value()) {
    return file.run_state == RunState::kRunning ? "profiling ..." : "";
  }
  std::string text = absl::StrCat(GroupDigits(file.figures->cycles), " cycles",
                                  ChangeText(file), " \u00B7 ",
                                  LatencyText(file.figures->latency_ms));
  if (!file.figures->memory.empty()) {
    absl::StrAppend(&text, " \u00B7 ", file.figures->memory, " ",
                    FormatBytes(file.figures->memory_bytes));
  }
  return file.stale ? absl::StrCat(text, " (outdated)") : text;
}

}  // namespace edgekiln::client::lsp
