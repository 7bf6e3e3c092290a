#include "client/render/error_block.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/render/wrap.h"

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

}  // namespace

std::string RenderError(const v1::ErrorDetail& error, const Style& style,
                        absl::string_view label,
                        const std::vector<std::string>& lines) {
  std::string what = CleanText(error.what());
  if (what.empty()) what = CleanText(error.message());
  if (what.empty()) what = "no reason was given";
  std::string out;
  // Paths and commands are copied from here.
  const auto add = [&](const std::string& text, int indent) {
    absl::StrAppend(&out, Wrapped(text, indent, style, LongWord::kWhole), "\n");
  };
  add(absl::StrCat(style.Red(absl::StrCat(label, ":")), " ", what),
      TextWidth(label) + 2);
  for (const std::string& one : lines) {
    add(absl::StrCat("  - ", CleanText(one)), 4);
  }
  const auto line = [&](absl::string_view name, const std::string& text) {
    if (text.empty()) return;
    add(absl::StrCat("  ", style.Bold(name), CleanText(text)), 9);
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
    add(absl::StrCat("  ", style.Dim(absl::StrCat("(", tail, ")"))), 2);
  }
  return out;
}

}  // namespace edgekiln::client
