#include "client/render/error_block.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace edgekiln::client {
namespace {

// The layers in front of `what` in "job 7: pass tile: WHAT; where: ...".
std::string PathOf(const v1::ErrorDetail& error) {
  const size_t at = error.message().find(error.what());
  if (error.what().empty() || at == std::string::npos) return "";
  absl::string_view path = absl::string_view(error.message()).substr(0, at);
  path = absl::StripSuffix(path, ": ");
  // No news if `where` says it too.
  if (absl::StrContains(error.where(), path)) return "";
  return CleanText(path);
}

// The text behind `front`, in lines under each other where the window is
// narrow; `painted` is the front as it is printed.
std::string Hanging(absl::string_view front, absl::string_view painted,
                    absl::string_view text, const Style& style) {
  // A long front would leave no room beside it.
  const int indent = std::min(TextWidth(front), 9);
  const int width =
      style.width() == 0
          ? 0
          : std::max(style.width() - std::max(indent, TextWidth(front)), 1);
  std::string out;
  for (const std::string& line : WrapWords(text, width)) {
    absl::StrAppend(&out, out.empty() ? painted : std::string(indent, ' '),
                    line, "\n");
  }
  return out;
}

}  // namespace

std::string RenderError(const v1::ErrorDetail& error, const Style& style,
                        absl::string_view label,
                        const std::vector<std::string>& lines) {
  std::string what = CleanText(error.what());
  if (what.empty()) what = CleanText(error.message());
  if (what.empty()) what = "no reason was given";
  std::string out =
      Hanging(absl::StrCat(label, ": "),
              style.Red(absl::StrCat(label, ":")) + " ", what, style);
  for (const std::string& one : lines) {
    out += Hanging("  - ", "  - ", CleanText(one), style);
  }
  const auto line = [&](absl::string_view name, const std::string& text) {
    if (text.empty()) return;
    out +=
        Hanging(absl::StrCat("  ", name), absl::StrCat("  ", style.Bold(name)),
                CleanText(text), style);
  };
  line("where: ", error.where());
  line("limit: ", error.limit());
  line("need:  ", error.need());
  line("fix:   ", error.fix());
  line("while: ", PathOf(error));
  std::string tail;
  if (!error.reason().empty()) {
    absl::StrAppend(&tail, "reason ", CleanText(error.reason()));
  }
  if (error.fault() != v1::ErrorDetail::FAULT_UNSPECIFIED &&
      v1::ErrorDetail::Fault_IsValid(error.fault())) {
    absl::StrAppend(&tail, tail.empty() ? "" : ", ", "fault ",
                    v1::ErrorDetail::Fault_Name(error.fault()));
  }
  if (!tail.empty()) {
    absl::StrAppend(&out, "  ", style.Dim(absl::StrCat("(", tail, ")")), "\n");
  }
  return out;
}

}  // namespace edgekiln::client
