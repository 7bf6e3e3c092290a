#include "client/render/error_block.h"

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

}  // namespace

std::string RenderError(const v1::ErrorDetail& error, const Style& style,
                        absl::string_view label,
                        const std::vector<std::string>& lines) {
  std::string what = CleanText(error.what());
  if (what.empty()) what = CleanText(error.message());
  if (what.empty()) what = "no reason was given";
  std::string out =
      absl::StrCat(style.Red(absl::StrCat(label, ":")), " ", what, "\n");
  for (const std::string& one : lines) {
    absl::StrAppend(&out, "  - ", CleanText(one), "\n");
  }
  const auto line = [&](absl::string_view name, const std::string& text) {
    if (text.empty()) return;
    absl::StrAppend(&out, "  ", style.Bold(name), CleanText(text), "\n");
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
