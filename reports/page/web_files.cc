#include "reports/page/web_files.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace edgekiln {
namespace {

struct WebFile {
  absl::string_view name;
  absl::string_view content;
};

// In the order of client/CMakeLists.txt: scripts use what stands before them.
constexpr WebFile kReportFiles[] = {
#include "reports/page/report_files.inc"
};
constexpr WebFile kSweepFiles[] = {
#include "reports/page/sweep_files.inc"
};

std::string Joined(WebPage page, absl::string_view suffix) {
  const absl::Span<const WebFile> files =
      page == WebPage::kReport ? absl::Span<const WebFile>(kReportFiles)
                               : absl::Span<const WebFile>(kSweepFiles);
  std::string out;
  for (const WebFile& file : files) {
    if (absl::EndsWith(file.name, suffix)) absl::StrAppend(&out, file.content);
  }
  return out;
}

}  // namespace

std::string WebStyle(WebPage page) { return Joined(page, ".css"); }

std::string WebScript(WebPage page) {
  return absl::StrCat("(() => {\n\"use strict\";\n", Joined(page, ".js"),
                      "})();\n");
}

std::string WebBody(WebPage page) { return Joined(page, ".html"); }

}  // namespace edgekiln
